import "@mantine/notifications/styles.layer.css";
import { Notifications, notifications } from "@mantine/notifications";
import { useEffect } from "react";
import { takeToasts } from "./toasts.tsx";

const SHOWN_MS = 5_000;

export default function ToastStack({ count }: { count: number }) {
  useEffect(() => {
    for (const content of takeToasts()) {
      notifications.show({ ...content, color: "teal", autoClose: SHOWN_MS });
    }
  }, [count]);
  return <Notifications position="bottom-right" />;
}
