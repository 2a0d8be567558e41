/** `user:password` of `https://user:password@host`, and what stands before it. */
const urlLogin = /([a-z][a-z0-9+.-]*:\/\/)([^/?#\s"'<>]+)@/gi;

/** The text with the logins of its URLs changed. */
export function mapUrlLogins(text: string, change: (login: string) => string): string {
  if (!text.includes('@')) return text;
  return text.replaceAll(urlLogin, (_, scheme: string, login: string) => `${scheme}${change(login)}@`);
}

export function maskUrlLogins(text: string): string {
  return mapUrlLogins(text, () => '******');
}
