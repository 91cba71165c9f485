/**
 * Accounts: the tenants, their API keys, signing secrets and the audit log. Only this room creates,
 * revokes or looks up keys. It never touches money.
 */
export {
  type AccountRow,
  createAccount,
  findAccount,
  findAccountNames,
  findAccounts,
  listAccounts,
  updateAccount,
} from "./accounts.ts";
export {
  type Actor,
  actorName,
  type Change,
  noteDone,
  recordAudit,
  type RemoteActor,
} from "./audit-log.ts";
export { browseAccounts } from "./browse-accounts.ts";
export { type AuditFilter, type AuditRow, browseAudit } from "./browse-audit.ts";
export { authenticator, sendTokensOf } from "./authenticator.ts";
export { keyPrefix, maskKey } from "./key.ts";
export { isActiveAt, type KeyRow, MAX_ACTIVE_KEYS } from "./key-row.ts";
export { hasKeyProof, isSecretKeyRight, proveSecretKey, resealKeyProof } from "./key-proof.ts";
export { keyUsage } from "./key-usage.ts";
export { browseKeys, countKeys, findKeyNames, type KeyState } from "./browse-keys.ts";
export { createKey, judgeKey, judgeNewKey, listKeys, revokeKey } from "./keys.ts";
export { findHeldAccounts, lockAccounts } from "./lock-accounts.ts";
export { judgeName, lineFaults, nameFaults } from "./names.ts";
export {
  describeSigningSecret,
  findSigningSecrets,
  resealSigningSecrets,
  revealSigningSecret,
  rotateSigningSecret,
  signingNow,
  type SigningSecrets,
} from "./signing-secrets.ts";
