import "@mantine/notifications/styles.layer.css";
import { Notifications, notifications } from "@mantine/notifications";
import { IconAlertTriangle } from "@tabler/icons-react";
import { useEffect } from "react";
import { takeToasts, type Toast } from "./toasts.tsx";

const SHOWN_MS = 5_000;

export default function ToastStack({ count }: { count: number }) {
  useEffect(() => {
    for (const content of takeToasts()) show(content);
  }, [count]);
  return <Notifications position="bottom-right" />;
}

function show({ isWarning, ...content }: Toast): void {
  if (!isWarning)
    return void notifications.show({ ...content, color: "teal", autoClose: SHOWN_MS });
  notifications.show({
    ...content,
    color: "orange.8",
    icon: <IconAlertTriangle size={18} aria-hidden />,
    autoClose: false,
    "data-warning": true,
  });
}
