import i18next from "i18next";
import { initReactI18next } from "react-i18next";
import { en, type Texts } from "./en";
import { zh } from "./zh";

export type Language = "zh" | "en";

declare module "i18next" {
  interface CustomTypeOptions {
    defaultNS: "texts";
    resources: { texts: Texts };
  }
}

const KEY = "clew.language";

export function firstLanguage(): Language {
  const stored = localStorage.getItem(KEY);
  if (stored === "zh" || stored === "en") return stored;
  return navigator.languages.some((language) => language.startsWith("zh")) ? "zh" : "en";
}

export async function startTexts(language: Language): Promise<void> {
  await i18next.use(initReactI18next).init({
    lng: language,
    fallbackLng: "en",
    ns: ["texts"],
    defaultNS: "texts",
    resources: { en: { texts: en }, zh: { texts: zh } },
    interpolation: { escapeValue: false },
  });
  document.documentElement.lang = language === "zh" ? "zh-CN" : "en";
}

export async function changeLanguage(language: Language): Promise<void> {
  localStorage.setItem(KEY, language);
  document.documentElement.lang = language === "zh" ? "zh-CN" : "en";
  await i18next.changeLanguage(language);
}
