import { type ReactNode, createContext, use, useEffect, useMemo, useState } from "react";
import { type Language, changeLanguage, firstLanguage } from "../i18n";

export type ThemeChoice = "light" | "dark" | "system";

interface Preferences {
  language: Language;
  setLanguage: (language: Language) => void;
  themeChoice: ThemeChoice;
  setThemeChoice: (choice: ThemeChoice) => void;
  dark: boolean;
}

const PreferencesContext = createContext<Preferences | null>(null);
const THEME_KEY = "clew.theme";
const DARK = "(prefers-color-scheme: dark)";

function firstTheme(): ThemeChoice {
  const stored = localStorage.getItem(THEME_KEY);
  return stored === "light" || stored === "dark" ? stored : "system";
}

export function PreferencesProvider({ children }: { children: ReactNode }) {
  const [language, setLanguage] = useState(firstLanguage);
  const [themeChoice, setThemeChoice] = useState(firstTheme);
  const [systemDark, setSystemDark] = useState(() => matchMedia(DARK).matches);
  const dark = themeChoice === "dark" || (themeChoice === "system" && systemDark);

  useEffect(() => {
    const media = matchMedia(DARK);
    const update = () => setSystemDark(media.matches);
    media.addEventListener("change", update);
    return () => media.removeEventListener("change", update);
  }, []);

  useEffect(() => {
    document.documentElement.dataset.theme = dark ? "dark" : "light";
    document.documentElement.style.colorScheme = dark ? "dark" : "light";
  }, [dark]);

  const value = useMemo(
    () => ({
      language,
      setLanguage: (next: Language) => {
        void changeLanguage(next).then(() => setLanguage(next));
      },
      themeChoice,
      setThemeChoice: (next: ThemeChoice) => {
        localStorage.setItem(THEME_KEY, next);
        setThemeChoice(next);
      },
      dark,
    }),
    [language, themeChoice, dark],
  );
  return <PreferencesContext value={value}>{children}</PreferencesContext>;
}

export function usePreferences(): Preferences {
  const value = use(PreferencesContext);
  if (value === null) throw new Error("usePreferences outside of PreferencesProvider");
  return value;
}
