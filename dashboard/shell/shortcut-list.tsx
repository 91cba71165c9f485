export default function ShortcutList(_: { onClose: () => void }) {
  return null;
}
