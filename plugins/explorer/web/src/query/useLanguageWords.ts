import { useQuery } from "@tanstack/react-query";

import { readBody } from "../api/http";
import type { LanguageWords } from "../api/types";
import { besidePage } from "../app/addresses";

/** The words of both languages, which the service writes beside the page; null until they come. */
export function useLanguageWords(): LanguageWords | null {
  const { data } = useQuery({
    queryKey: ["language"],
    queryFn: async ({ signal }): Promise<LanguageWords> => {
      const response = await fetch(besidePage("language.json"), { signal });
      if (!response.ok) throw new Error(`language.json: ${response.status} ${response.statusText}`);
      return readBody<LanguageWords>(response);
    },
    staleTime: Infinity,
  });
  return data ?? null;
}
