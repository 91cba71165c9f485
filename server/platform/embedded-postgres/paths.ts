import { join } from "node:path";

/** The only major version whose data folder the bundled programs can open. */
export const MAJOR_VERSION = "18";

/** What the embedded PostgreSQL keeps in the data folder. */
export type Paths = {
  dataDir: string;
  /** PostgreSQL's own data folder, created by initdb. */
  cluster: string;
  /** A cluster that is being made. A single rename turns it into `cluster`. */
  newCluster: string;
  password: string;
  log: string;
};

export function pathsIn(dataDir: string): Paths {
  return {
    dataDir,
    cluster: join(dataDir, "postgresql"),
    newCluster: join(dataDir, "postgresql.new"),
    password: join(dataDir, "postgresql.password"),
    log: join(dataDir, "postgresql.log"),
  };
}
