import { LoadingOutlined } from "@ant-design/icons";
import { XProvider } from "@ant-design/x";
import { QueryClientProvider } from "@tanstack/react-query";
import { App as AntApp } from "antd";
import { StrictMode, useMemo } from "react";
import { createRoot } from "react-dom/client";
import { Navigate, RouterProvider, createBrowserRouter } from "react-router";
import { createQueryClient } from "./api/queries";
import { Broken } from "./app/Broken";
import { NotFound } from "./app/NotFound";
import { Shell } from "./app/Shell";
import "./app/app.css";
import { lazyPart } from "./app/loading";
import { PreferencesProvider, usePreferences } from "./app/preferences";
import { themeFor } from "./app/theme";
import { antdLocale, firstLanguage, startTexts } from "./i18n";

const ChatPage = lazyPart(() => import("./chat/ChatPage"));
const KbListPage = lazyPart(() => import("./kbs/KbListPage"));
const KbPage = lazyPart(() => import("./kbs/KbPage"));
const KbSettingsPage = lazyPart(() => import("./kbs/KbSettingsPage"));
const DebugPage = lazyPart(() => import("./debug/DebugPage"));
const SettingsPage = lazyPart(() => import("./settings/SettingsPage"));
const EvaluationPage = lazyPart(() => import("./evaluation/EvaluationPage"));
const FilePage = lazyPart(() => import("./kbs/FilePage"));

const router = createBrowserRouter([
  {
    element: <Shell />,
    errorElement: <Broken />,
    children: [
      {
        // Inside the frame, so that the other pages can still be gone to.
        errorElement: <Broken />,
        children: [
          { index: true, element: <Navigate to="/chat" replace /> },
          { path: "chat/:conversationId?", element: <ChatPage /> },
          { path: "kbs", element: <KbListPage /> },
          { path: "kbs/:kbId", element: <KbPage /> },
          { path: "kbs/:kbId/settings", element: <KbSettingsPage /> },
          { path: "kbs/:kbId/files/:fileId", element: <FilePage /> },
          { path: "files/:fileId", element: <FilePage /> },
          { path: "debug", element: <DebugPage /> },
          { path: "evaluation", element: <EvaluationPage /> },
          { path: "settings", element: <SettingsPage /> },
          { path: "*", element: <NotFound /> },
        ],
      },
    ],
  },
]);

// A button that waits keeps its name; antd's own icon would add "loading" to it, in English.
const BUTTON = { autoInsertSpace: false, loadingIcon: <LoadingOutlined spin aria-hidden /> };

function Root() {
  const { dark, language } = usePreferences();
  const theme = useMemo(() => themeFor(dark), [dark]);
  return (
    <XProvider theme={theme} locale={antdLocale(language)} button={BUTTON}>
      <AntApp style={{ height: "100%" }}>
        <RouterProvider router={router} />
      </AntApp>
    </XProvider>
  );
}

await startTexts(firstLanguage());
createRoot(document.getElementById("root")!).render(
  <StrictMode>
    <QueryClientProvider client={createQueryClient()}>
      <PreferencesProvider>
        <Root />
      </PreferencesProvider>
    </QueryClientProvider>
  </StrictMode>,
);
