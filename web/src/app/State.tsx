import { Button, Spin } from "antd";
import type { ReactNode } from "react";
import { useTranslation } from "react-i18next";
import { ApiError } from "../api/client";
import { useTold } from "../i18n/told";

export function Empty({ title, text, children }: { title: string; text?: string; children?: ReactNode }) {
  return (
    <div className="state">
      <h2>{title}</h2>
      {text && <p>{text}</p>}
      {children}
    </div>
  );
}

export function Loading() {
  const { t } = useTranslation();
  return (
    <div className="state" role="status" aria-label={t("app.loading")}>
      <Spin />
    </div>
  );
}

export function Failure({ error, onRetry }: { error: Error; onRetry?: () => void }) {
  const { t } = useTranslation();
  const { titleOf } = useTold();
  return (
    <div className="state" role="alert">
      <h2>{titleOfError(error, titleOf) || t("app.failedTitle")}</h2>
      <p>{useErrorText()(error)}</p>
      {onRetry && <Button onClick={onRetry}>{t("app.retry")}</Button>}
    </div>
  );
}

/** What an error says to a person, in the page's language where the page knows the error. */
export function useErrorText(): (error: unknown) => string {
  const { t } = useTranslation();
  const { told } = useTold();
  return (error) => {
    if (error instanceof ApiError) return error.status === 0 ? t("app.unreachable") : told(error.message);
    return error instanceof Error ? error.message : String(error);
  };
}

function titleOfError(error: Error, titleOf: (kind: string, title: string) => string): string {
  return error instanceof ApiError && error.title ? titleOf(error.kind, error.title) : "";
}
