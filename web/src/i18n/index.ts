import type { Locale } from "antd/es/locale";
import i18next from "i18next";
import { initReactI18next } from "react-i18next";
import type { Texts } from "./en";

export type Language = "zh" | "en";

declare module "i18next" {
  interface CustomTypeOptions {
    defaultNS: "texts";
    resources: { texts: Texts };
  }
}

const KEY = "clew.language";
// Only the language that is shown is loaded: the page's texts and those of antd.
const LOAD = {
  en: () => Promise.all([import("./en").then(({ en }) => en), import("antd/locale/en_US")]),
  zh: () => Promise.all([import("./zh").then(({ zh }) => zh), import("antd/locale/zh_CN")]),
};
const antdTexts: Partial<Record<Language, Locale>> = {};

async function textsOf(language: Language): Promise<Texts> {
  const [texts, { default: locale }] = await LOAD[language]();
  antdTexts[language] = locale;
  return texts;
}

/** antd's own texts in a language that was loaded. */
export function antdLocale(language: Language): Locale | undefined {
  return antdTexts[language];
}

export function firstLanguage(): Language {
  const stored = localStorage.getItem(KEY);
  if (stored === "zh" || stored === "en") return stored;
  return navigator.languages.some((language) => language.startsWith("zh")) ? "zh" : "en";
}

export async function startTexts(language: Language): Promise<void> {
  await i18next.use(initReactI18next).init({
    lng: language,
    fallbackLng: false,
    ns: ["texts"],
    defaultNS: "texts",
    resources: { [language]: { texts: await textsOf(language) } },
    interpolation: { escapeValue: false },
  });
  document.documentElement.lang = language === "zh" ? "zh-CN" : "en";
}

export async function changeLanguage(language: Language): Promise<void> {
  localStorage.setItem(KEY, language);
  if (!i18next.hasResourceBundle(language, "texts")) i18next.addResourceBundle(language, "texts", await textsOf(language));
  document.documentElement.lang = language === "zh" ? "zh-CN" : "en";
  await i18next.changeLanguage(language);
}
