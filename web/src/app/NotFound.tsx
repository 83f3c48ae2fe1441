import { Button } from "antd";
import { useTranslation } from "react-i18next";
import { Link } from "react-router";
import { Empty } from "./State";

export function NotFound() {
  const { t } = useTranslation();
  return (
    <Empty title={t("app.notFoundTitle")} text={t("app.notFoundText")}>
      <Link to="/chat">
        <Button tabIndex={-1}>{t("app.backToChat")}</Button>
      </Link>
    </Empty>
  );
}
