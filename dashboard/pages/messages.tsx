export function MessagesPage() {
  return <h1>Messages</h1>;
}
