/** The words of receipts for the values of `message_state`, from 0 on. */
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
