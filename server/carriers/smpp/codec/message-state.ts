/** The words that receipts use for the values of `message_state`, from 0. */
export const messageStates = [
  "SCHEDULED",
  "ENROUTE",
  "DELIVRD",
  "EXPIRED",
  "DELETED",
  "UNDELIV",
  "ACCEPTD",
  "UNKNOWN",
  "REJECTD",
];
