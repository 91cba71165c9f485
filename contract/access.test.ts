import assert from "node:assert/strict";
import { test } from "node:test";
import type { ConsoleErrors, ConsoleOperations } from "./console.ts";
import { consoleOperations, type ConsoleOperation, type Operation, operations } from "./index.ts";

test("an operation of the dashboard is open only to those in this table, and asks for proof where it says so", () => {
  const declared = Object.entries<ConsoleOperation>(consoleOperations).map(
    ([name, { access, proof }]) => [name, `${access}${proof ? " proof" : ""}`],
  );

  assert.deepEqual(Object.fromEntries(declared), {
    readSetup: "setup",
    completeSetup: "setup",
    signIn: "public",
    giveSecondFactor: "pending",
    signOut: "pending",
    changePassword: "user",
    listSessions: "user",
    endSession: "user",
    endOtherSessions: "user",
    enrolSecondFactor: "user proof",
    confirmSecondFactor: "user proof",
    switchOffSecondFactor: "user proof",
    renewRecoveryCodes: "user proof",
    giveProof: "user",
    readLink: "public",
    joinAccount: "public",
    resetPassword: "public",
    readMe: "user",
    updateMe: "user",
    listKeys: "viewer",
    createKey: "developer proof",
    revokeKey: "developer",
    browseMessages: "viewer",
    exportMessages: "viewer",
    composeMessage: "developer",
    previewConsoleMessage: "developer",
    readMessage: "viewer",
    readMessageEvents: "viewer",
    cancelConsoleMessage: "developer",
    listDeliveries: "viewer",
    readDelivery: "viewer",
    replayDelivery: "developer",
    startReplay: "developer",
    readReplay: "viewer",
    cancelReplay: "developer",
    listWebhookHosts: "viewer",
    sendTestEvent: "developer",
    readSigningSecret: "viewer",
    revealSigningSecret: "developer proof",
    rotateSigningSecret: "developer proof",
    readCredits: "viewer",
    listLedger: "viewer",
    exportLedger: "viewer",
    readSummary: "viewer",
    readStatuses: "viewer",
    readLatency: "viewer",
    readCreditsUse: "viewer",
    readErrors: "viewer",
    readWebhookHealth: "viewer",
    readProgress: "viewer",
    readAccount: "viewer",
    updateAccount: "owner",
    listMembers: "viewer",
    changeRole: "owner proof",
    removeMember: "owner",
    leaveAccount: "viewer",
    listInvitations: "viewer",
    invite: "owner proof",
    withdrawInvitation: "owner",
    streamAccount: "viewer",
    listAccounts: "operator",
    createAccount: "operator proof",
    makeOwnerLink: "operator proof",
    bookCredits: "operator proof",
    listUsers: "operator",
    makeResetLink: "operator proof",
    listCarriers: "operator",
    updateCarrier: "operator proof",
    testCarrier: "operator",
    pauseCarrier: "operator",
    resumeCarrier: "operator",
    listRoutes: "operator",
    setRoute: "operator",
    removeRoute: "operator",
    findRoute: "operator",
    listPrices: "operator",
    setPrice: "operator",
    removePrice: "operator",
    findPrice: "operator",
    readQueue: "operator",
    listNodes: "operator",
    listAudit: "operator",
    exportAudit: "operator",
    streamOperator: "operator",
  });
});

test("each operation of the API needs a key with the scope that this table names", () => {
  const declared = Object.entries<Operation>(operations).map(([name, { scope }]) => [name, scope]);

  assert.deepEqual(Object.fromEntries(declared), {
    sendMessage: "messages:send",
    sendBatch: "messages:send",
    previewMessage: "messages:send",
    listMessages: "messages:read",
    retrieveMessage: "messages:read",
    listMessageEvents: "messages:read",
    cancelMessage: "messages:send",
    retrieveCredits: "messages:read",
  });
});

test("a handler compiles only with errors that its operation declares, even if it declares none", () => {
  const declared: ConsoleErrors<ConsoleOperations["setRoute"]> = "VERSION_CONFLICT";
  // @ts-expect-error -- It declares none of its own.
  const undeclared: ConsoleErrors<ConsoleOperations["listRoutes"]> = "VERSION_CONFLICT";

  assert.equal(declared, undeclared);
});
