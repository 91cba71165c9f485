import { createContext, type ReactNode, use } from "react";
import { browserZone, type Zone } from "../format.ts";

const ZoneContext = createContext<Zone>("UTC");

/** The zone of every time on the page: the browser's, or UTC if the profile says so. */
export function ZoneProvider({
  choice,
  children,
}: {
  choice: "browser" | "utc";
  children: ReactNode;
}) {
  return <ZoneContext value={choice === "utc" ? "UTC" : browserZone()}>{children}</ZoneContext>;
}

export function useZone(): Zone {
  return use(ZoneContext);
}
