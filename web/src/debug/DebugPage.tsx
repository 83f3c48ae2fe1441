import { DownloadOutlined } from "@ant-design/icons";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Button, Segmented } from "antd";
import { useMemo, useState } from "react";
import { useTranslation } from "react-i18next";
import { useSearchParams } from "react-router";
import { type SearchRequest, type Trace, api, dataOf } from "../api/client";
import { chunksQuery, decisionsQuery, kbsQuery, messagesQuery, settingsQuery } from "../api/queries";
import { useTold } from "../i18n/told";
import { SectionsRead } from "../chat/SectionsRead";
import { Empty, Failure, Loading } from "../app/State";
import { SettingsFields } from "../settings/SettingsFields";
import type { Values } from "../settings/schema";
import { Comparison, type Side } from "./Comparison";
import { ComplexityCard, KindCard, stepName } from "./Decisions";
import { type Asked, QuestionForm } from "./QuestionForm";
import { type Chunks, Rankings } from "./Rankings";
import styles from "./debug.module.css";
import { contextOf } from "./ranking";

/** The sections whose settings change what is found. */
const SECTIONS = ["representations", "retrieval", "complexity", "kind", "recursion"];

/** A question, everything that was decided and looked up for it, and what other settings would make of it. */
export default function DebugPage() {
  const { t } = useTranslation();
  const [params] = useSearchParams();
  const [conversation, message] = [params.get("conversation"), params.get("message")];
  return (
    <div className="scroll-page">
      <div className="column wide">
        <header className="column-head">
          <div>
            <h1>{t("debug.title")}</h1>
            <p>{t("debug.intro")}</p>
          </div>
        </header>
        {conversation !== null && message !== null ? (
          <Stored key={message} conversationId={conversation} messageId={message} />
        ) : (
          <Workbench stored={null} />
        )}
      </div>
    </div>
  );
}

/** The question of a stored answer, with the trace that was stored with it. */
function Stored({ conversationId, messageId }: { conversationId: string; messageId: string }) {
  const { t } = useTranslation();
  const messages = useQuery(messagesQuery(conversationId));
  if (messages.error) return <Failure error={messages.error} onRetry={() => void messages.refetch()} />;
  if (messages.isPending) return <Loading />;
  const trace = messages.data.find((one) => one.message_id === messageId)?.usage.retrieval_trace;
  if (!trace) return <Empty title={t("debug.noTrace")} text={t("debug.noTraceText")} />;
  return <Workbench stored={trace} />;
}

function Workbench({ stored }: { stored: Trace | null }) {
  const { t } = useTranslation();
  const queries = useQueryClient();
  const kbs = useQuery(kbsQuery);
  const settings = useQuery(settingsQuery);
  const decisions = useQuery(decisionsQuery);
  const [typed, setTyped] = useState<Asked | null>(null);
  const [comparing, setComparing] = useState(false);
  const [overlays, setOverlays] = useState<readonly [Values, Values]>([{}, {}]);
  const [edited, setEdited] = useState<0 | 1>(0);
  const [shown, setShown] = useState(0);
  const filled = kbs.data?.find((kb) => kb.files.completed > 0) ?? kbs.data?.[0];
  const asked = typed ?? askedBy(stored) ?? { ...NOTHING, kbs: filled ? [filled.kb_id] : [] };
  const recent = useMemo(() => [...new Set((decisions.data ?? []).map((decision) => decision.question))].slice(0, 50), [decisions.data]);

  const run = useMutation({
    mutationFn: async ({ request, overlays }: { request: Asked; overlays: readonly Values[] }): Promise<Side[]> => {
      const found = [];
      for (const overlay of overlays) found.push(await dataOf(api.POST("/api/v1/search", { body: bodyOf(request, overlay) })));
      return found.map((one, index) => ({ label: t(index === 0 ? "debug.settingsA" : "debug.settingsB"), trace: (one as { trace: Trace }).trace }));
    },
    onSuccess: () => {
      setShown(0);
      void queries.invalidateQueries({ queryKey: decisionsQuery.queryKey });
    },
  });
  const again = useMutation({
    mutationFn: async (trace: Trace): Promise<Side[]> => {
      const request = askedBy(trace) ?? NOTHING;
      const found = await dataOf(api.POST("/api/v1/search", { body: bodyOf(request, trace.request?.settings ?? {}) }));
      return [{ label: t("debug.now"), trace: (found as { trace: Trace }).trace }];
    },
    onSuccess: () => setShown(1),
  });
  const sides = run.data ?? (stored ? [{ label: t("debug.back"), trace: stored }, ...(again.data ?? [])] : []);
  const error = run.error ?? again.error;
  return (
    <>
      <QuestionForm
        asked={asked}
        onAsked={setTyped}
        kbs={kbs.data ?? []}
        recent={recent}
        comparing={comparing}
        onComparing={(next) => {
          setComparing(next);
          setEdited(next ? 1 : 0);
        }}
        running={run.isPending}
        onRun={(request) => run.mutate({ request, overlays: comparing ? overlays : [overlays[0]] })}
      />
      <details className={styles.settings} open={comparing || undefined}>
        <summary>{t("debug.settings")}</summary>
        {comparing && (
          <Segmented
            aria-label={t("debug.settings")}
            value={edited}
            onChange={setEdited}
            options={[
              { value: 0 as const, label: t("debug.settingsA") },
              { value: 1 as const, label: t("debug.settingsB") },
            ]}
          />
        )}
        {settings.data && (
          <SettingsFields
            view={settings.data}
            sections={SECTIONS}
            base={kbs.data?.find((kb) => kb.kb_id === asked.kbs[0])?.settings ?? {}}
            overlay={overlays[comparing ? edited : 0]}
            onOverlay={(next) => setOverlays(comparing && edited === 1 ? [overlays[0], next] : [next, overlays[1]])}
          />
        )}
      </details>
      {stored && !run.data && (
        <div className={styles.controls}>
          <Button loading={again.isPending} disabled={!stored.request} onClick={() => again.mutate(stored)}>
            {t("debug.again")}
          </Button>
          <span className="quiet">{t(stored.request ? "debug.againText" : "debug.tooOld")}</span>
        </div>
      )}
      {error && <Failure error={error} onRetry={() => (run.error ? run.reset() : again.reset())} />}
      {run.isPending && <Loading />}
      {!run.isPending && !error && sides.length > 0 && <Found sides={sides} shown={shown} onShown={setShown} />}
      {!run.isPending && !error && sides.length === 0 && <Empty title={t("debug.empty")} text={t("debug.emptyText")} />}
    </>
  );
}

function Found({ sides, shown, onShown }: { sides: readonly Side[]; shown: number; onShown: (shown: number) => void }) {
  const { t } = useTranslation();
  const ids = useMemo(() => [...new Set(sides.flatMap(({ trace }) => idsOf(trace)))].toSorted(), [sides]);
  const chunks = useQuery({ ...chunksQuery(ids), enabled: ids.length > 0 }).data ?? new Map();
  const [left, right] = sides;
  const side = sides[shown] ?? left;
  if (!side) return null;
  return (
    <>
      {left && right && <Comparison left={left} right={right} chunks={chunks} />}
      <div className={styles.controls}>
        {sides.length > 1 && (
          <Segmented aria-label={t("debug.comparison")} value={sides.indexOf(side)} onChange={onShown} options={sides.map(({ label }, value) => ({ value, label }))} />
        )}
        <span className={styles.grow} />
        <Button icon={<DownloadOutlined aria-hidden />} onClick={() => download(side.trace)}>
          {t("debug.export")}
        </Button>
      </div>
      <Details trace={side.trace} chunks={chunks} />
    </>
  );
}

function Details({ trace, chunks }: { trace: Trace; chunks: Chunks }) {
  const { t } = useTranslation();
  const { told } = useTold();
  const kept = useMemo(() => new Set(contextOf(trace.stages)), [trace]);
  const reason = trace.stop_reason ?? "single";
  return (
    <>
      {trace.rewritten !== trace.question && (
        <p>
          <span className="quiet">{t("trace.rewritten")}{t("app.colon")}</span> {trace.rewritten}
        </p>
      )}
      {trace.complexity && <ComplexityCard decision={trace.complexity} />}
      {trace.kind && <KindCard decision={trace.kind} />}
      {trace.sections && (
        <section className={styles.card} aria-label={t("trace.readTitle")}>
          <header>
            <h3>{t("trace.readTitle")}</h3>
          </header>
          <SectionsRead reading={trace.sections} />
        </section>
      )}
      {(trace.degraded ?? []).length > 0 && (
        <p className={styles.failures} role="note">
          {t("trace.degraded")}{t("app.colon")}{(trace.degraded ?? []).map(told).join(t("app.between"))}
        </p>
      )}
      {(trace.rounds ?? []).map((round) => (
        <section key={round.round} className={styles.card} aria-label={t("trace.round", { round: round.round })}>
          <header>
            <h3>{t("trace.round", { round: round.round })}</h3>
            <span>{round.sub_question}</span>
            <span className="quiet">{Math.round(round.ms ?? 0)} ms</span>
          </header>
          <p className={styles.reason}>
            {[
              t("trace.new", { count: round.new_chunks ?? 0 }),
              (round.entities ?? []).length > 0 ? `${t("trace.entities")}${t("app.colon")}${(round.entities ?? []).join(t("app.comma"))}` : "",
              round.why ? `${t(round.goes_on ? "trace.goesOn" : "trace.stops")}${t("app.colon")}${told(round.why)}` : "",
            ]
              .filter(Boolean)
              .join(" · ")}
          </p>
          <Rankings
            stages={round.stages ?? []}
            chunks={chunks}
            kept={kept}
            label={`${t("debug.rankings")}: ${t("trace.round", { round: round.round })}`}
          />
        </section>
      ))}
      <section className={styles.card} aria-label={t("debug.afterwards")}>
        <header>
          <h3>{t("debug.afterwards")}</h3>
          <span>{t(`trace.reasons.${reason}` as "trace.reasons.single", { defaultValue: reason })}</span>
        </header>
        {(trace.stages ?? []).length > 0 && (
          <Rankings stages={trace.stages ?? []} chunks={chunks} kept={kept} label={`${t("debug.rankings")}: ${t("debug.afterwards")}`} />
        )}
      </section>
      <section className={styles.card} aria-label={t("trace.timing")}>
        <header>
          <h3>{t("trace.timing")}</h3>
          <span>{Math.round(trace.ms?.["total"] ?? 0)} ms</span>
        </header>
        <dl className={styles.facts}>
          {Object.entries(trace.ms ?? {})
            .filter(([name]) => name !== "total")
            .map(([name, value]) => (
              <div key={name}>
                <dt>{stepName(name, t)}</dt>
                <dd>{value.toFixed(1)} ms</dd>
              </div>
            ))}
          {Object.entries(trace.usage ?? {}).map(([name, value]) => (
            <div key={name}>
              <dt>{stepName(name, t)}</dt>
              <dd>{String(value)}</dd>
            </div>
          ))}
        </dl>
      </section>
    </>
  );
}

const NOTHING: Asked = { question: "", kbs: [], files: [], mode: "auto", kind: "auto" };

function askedBy(trace: Trace | null): Asked | null {
  if (!trace) return null;
  const { request } = trace;
  return {
    question: trace.rewritten,
    kbs: request?.kbs ?? [],
    files: request?.files ?? [],
    mode: (request?.mode ?? "auto") as Asked["mode"],
    kind: (request?.kind ?? "auto") as Asked["kind"],
  };
}

function bodyOf({ question, kbs, files, mode, kind }: Asked, settings: Values): SearchRequest {
  return {
    question: question.trim(),
    kbs: [...kbs],
    files: files.length > 0 ? [...files] : null,
    sections: null,
    retrieval_mode: mode,
    kind,
    settings: { ...settings },
  };
}

function idsOf(trace: Trace): string[] {
  const stages = [...(trace.rounds ?? []).flatMap((round) => round.stages ?? []), ...(trace.stages ?? [])];
  return stages.flatMap((stage) => [...(stage.ranking ?? []), ...(stage.dropped ?? [])].map((entry) => String(entry["chunk_id"])));
}

/** The trace as a file that `clew search --replay` takes. */
function download(trace: Trace) {
  const url = URL.createObjectURL(new Blob([`${JSON.stringify(trace, null, 2)}\n`], { type: "application/json" }));
  const link = document.createElement("a");
  link.href = url;
  link.download = `clew-trace-${new Date().toISOString().slice(0, 19).replaceAll(":", "-")}.json`;
  link.click();
  URL.revokeObjectURL(url);
}
