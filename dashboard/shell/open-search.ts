import { createContext } from "react";

/** Opens the palette; undefined where there is none. */
export const OpenSearch = createContext<(() => void) | undefined>(undefined);
