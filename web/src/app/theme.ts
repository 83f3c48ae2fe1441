import { type ThemeConfig, theme } from "antd";

const FONT = [
  "ui-sans-serif",
  "system-ui",
  "-apple-system",
  '"Segoe UI"',
  "Roboto",
  '"Helvetica Neue"',
  '"PingFang SC"',
  '"Hiragino Sans GB"',
  '"Microsoft YaHei"',
  '"Noto Sans CJK SC"',
  '"Noto Sans SC"',
  "sans-serif",
].join(", ");

/** Warm paper and ink; one quiet green for what can be acted on. The thread's red belongs to the mark alone. */
export function themeFor(dark: boolean): ThemeConfig {
  return {
    algorithm: dark ? theme.darkAlgorithm : theme.defaultAlgorithm,
    token: {
      fontFamily: FONT,
      fontSize: 15,
      borderRadius: 8,
      colorPrimary: dark ? "#3b907a" : "#2c6e5d",
      colorLink: dark ? "#7cc4af" : "#2c6e5d",
      colorInfo: dark ? "#5fae98" : "#2c6e5d",
      colorBgBase: dark ? "#171816" : "#ffffff",
      colorBgLayout: dark ? "#121311" : "#f7f6f2",
      colorTextBase: dark ? "#eceae4" : "#22231f",
      colorBorder: dark ? "#3a3c37" : "#d9d7cf",
      colorBorderSecondary: dark ? "#2a2c28" : "#e9e7e0",
      colorTextPlaceholder: dark ? "#a9aba2" : "#74766e",
      wireframe: false,
    },
    components: {
      Button: { primaryShadow: "none", defaultShadow: "none", fontWeight: 500 },
      Collapse: { contentBg: "transparent" },
      Tabs: { horizontalMargin: "0 0 16px 0" },
    },
  };
}
