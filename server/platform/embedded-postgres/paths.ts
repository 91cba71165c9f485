import { join } from "node:path";

/** The one major version of PostgreSQL whose data folder the bundled binaries can open. */
export const MAJOR_VERSION = "18";

/** What the embedded PostgreSQL keeps in the data folder. */
export type Paths = {
  dataDir: string;
  /** PostgreSQL's own data folder, made by initdb. */
  cluster: string;
  /** A cluster in the making; it becomes `cluster` by one rename. */
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
