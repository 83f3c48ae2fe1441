import { Button } from "antd";
import { useTranslation } from "react-i18next";
import { Empty } from "./State";

/** In place of a page that broke: what can be done about it. */
export function Broken() {
  const { t } = useTranslation();
  return (
    <div role="alert">
      <Empty title={t("app.failedTitle")} text={t("app.brokenText")}>
        <Button type="primary" onClick={() => window.location.reload()}>
          {t("app.reload")}
        </Button>
      </Empty>
    </div>
  );
}
