import { BookOutlined, EditOutlined, ExperimentOutlined, LineChartOutlined, MenuOutlined, MessageOutlined, MoonOutlined, SettingOutlined, SunOutlined } from "@ant-design/icons";
import { useQuery } from "@tanstack/react-query";
import { Button, Drawer, Dropdown } from "antd";
import { Suspense, useEffect, useState } from "react";
import { useTranslation } from "react-i18next";
import { Link, NavLink, Outlet, useLocation } from "react-router";
import { AWAY, ApiError } from "../api/client";
import { kbsQuery } from "../api/queries";
import { History } from "../chat/History";
import { Loading } from "./State";
import { type ThemeChoice, usePreferences } from "./preferences";

export function Shell() {
  const { t } = useTranslation();
  const [open, setOpen] = useState(false);
  const { pathname } = useLocation();
  useEffect(() => setOpen(false), [pathname]);
  return (
    <div className="frame">
      <a className="skip" href="#content">
        {t("app.skip")}
      </a>
      <aside className="side">
        <Side />
      </aside>
      <div className="content">
        <header className="topbar">
          <Button type="text" icon={<MenuOutlined aria-hidden />} aria-label={t("app.menu")} onClick={() => setOpen(true)} />
          <Brand />
          <Link to="/chat" aria-label={t("app.newChat")}>
            <Button type="text" icon={<EditOutlined aria-hidden />} tabIndex={-1} aria-hidden />
          </Link>
        </header>
        <Offline />
        <main id="content" tabIndex={-1}>
          <Suspense fallback={<Loading />}>
            <Outlet />
          </Suspense>
        </main>
      </div>
      <Drawer
        placement="left"
        size={300}
        open={open}
        onClose={() => setOpen(false)}
        title={null}
        closable={false}
        aria-label={t("app.menu")}
        styles={{ body: { padding: 0 } }}
      >
        <div className="side" style={{ borderRight: 0 }}>
          <Side />
        </div>
      </Drawer>
    </div>
  );
}

function Brand() {
  return (
    <Link className="brand" to="/chat">
      <img src="/icon.svg" alt="" />
      Clew
    </Link>
  );
}

function Side() {
  const { t } = useTranslation();
  return (
    <>
      <Brand />
      <nav className="nav" aria-label={t("app.menu")}>
        <NavLink to="/chat" end>
          <MessageOutlined aria-hidden /> {t("app.newChat")}
        </NavLink>
        <NavLink to="/kbs">
          <BookOutlined aria-hidden /> {t("app.kbs")}
        </NavLink>
        <NavLink to="/debug">
          <ExperimentOutlined aria-hidden /> {t("app.debug")}
        </NavLink>
        <NavLink to="/evaluation">
          <LineChartOutlined aria-hidden /> {t("app.evaluation")}
        </NavLink>
        <NavLink to="/settings">
          <SettingOutlined aria-hidden /> {t("app.settings")}
        </NavLink>
      </nav>
      <History />
      <div className="side-foot">
        <LanguageSwitch />
        <ThemeSwitch />
      </div>
    </>
  );
}

function LanguageSwitch() {
  const { language, setLanguage } = usePreferences();
  const next = language === "zh" ? "en" : "zh";
  return (
    <Button type="text" size="small" lang={next} onClick={() => setLanguage(next)}>
      {next === "zh" ? "中文" : "English"}
    </Button>
  );
}

function ThemeSwitch() {
  const { t } = useTranslation();
  const { themeChoice, setThemeChoice, dark } = usePreferences();
  return (
    <Dropdown
      trigger={["click"]}
      menu={{
        selectable: true,
        selectedKeys: [themeChoice],
        onClick: ({ key }) => setThemeChoice(key as ThemeChoice),
        items: [
          { key: "light", label: t("app.themeLight") },
          { key: "dark", label: t("app.themeDark") },
          { key: "system", label: t("app.themeSystem") },
        ],
      }}
    >
      <Button type="text" size="small" icon={dark ? <MoonOutlined aria-hidden /> : <SunOutlined aria-hidden />} aria-label={t("app.theme")} />
    </Dropdown>
  );
}

function Offline() {
  const { t } = useTranslation();
  const { failureReason, error, refetch } = useQuery({ ...kbsQuery, refetchOnWindowFocus: true });
  useEffect(() => {
    const ask = () => void refetch({ cancelRefetch: false });
    window.addEventListener(AWAY, ask);
    return () => window.removeEventListener(AWAY, ask);
  }, [refetch]);
  const reason = error ?? failureReason;
  if (!(reason instanceof ApiError && reason.status === 0)) return null;
  return (
    <div className="offline" role="status">
      {t("app.unreachable")}
    </div>
  );
}
