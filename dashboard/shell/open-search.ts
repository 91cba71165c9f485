import { createContext } from "react";

/** Opens the palette; undefined if there is none. */
export const OpenSearch = createContext<(() => void) | undefined>(undefined);
