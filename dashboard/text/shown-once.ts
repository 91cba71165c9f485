export const shownOnceText = {
  gateTitle: "Close without copying?",
  gateText: "It cannot be shown again. If you have not saved it, you will have to create another.",
  goBack: "Go back",
  closeAnyway: "Close without copying",
  copyLink: "Copy link",
} as const;
