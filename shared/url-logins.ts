/** `user:password` of `https://user:password@host`, and what stands before it. */
const urlLogin = /([a-z][a-z0-9+.-]*:\/\/)([^/?#\s"'<>]+)@/gi;

/** Signatures in queries, which open what the URL names: of Azure, S3, Google, Swift, and tokens. */
const signature =
  /([?&](?:sig|signature|x-amz-(?:signature|security-token)|x-goog-signature|temp_url_sig|(?:access_)?token)=)([^&#\s"'<>\\]+)/gi;

/** Returns the text with the logins and signatures of its URLs changed. */
export function mapUrlLogins(text: string, change: (login: string) => string): string {
  const changed = text.includes('@')
    ? text.replaceAll(urlLogin, (_, scheme: string, login: string) => `${scheme}${change(login)}@`)
    : text;
  if (!/[?&]/.test(changed)) return changed;
  return changed.replaceAll(signature, (_, name: string, value: string) => `${name}${change(value)}`);
}

export function maskUrlLogins(text: string): string {
  return mapUrlLogins(text, () => '******');
}
