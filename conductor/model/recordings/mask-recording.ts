import { isSecretName } from '#conductor/model/secret-names.ts';
import { maskUrlLogins } from '#shared/url-logins.ts';

/** Removes secrets from what a device has printed. Pure. */

const masked = '******';

/** Words before a secret, on a line or as an element of XML. */
const word =
  '(?:[\\w-]*-)?(?:password|passwd|passphrase|secret|passkey|key-string|encrypted-password|authentication-key|pre-shared-key|psk|bearer|md5|auth-pass|priv-pass|auth|priv|key|token(?! \\d+:)|authorization|\\w*cak|rocommunity|rwcommunity)';
/** Between them and it: kinds of hashes and of logins. */
const kind =
  '\\d{1,2}|ckn \\S+|ascii-text|hexadecimal|sha\\d*|sha-?\\d+|encrypted|ciphertext|plaintext|text|ascii|hash|des|3des|aes(?:[ -]?\\d+)?|level \\d+|basic|bearer|key-chain';
const gap = `["':=>\\s]+`;
const value = `"[^"]*"|'[^']*'|[^\\s,;}"'<]+`;
/** A key may have a name before its kind and itself (MACsec). */
const secretWords = new RegExp(
  `\\b(${word})((?:${gap}(?:${kind}|${word})(?=["':=>\\s]))*${gap})(${value})([ \\t]+\\d{1,2}[ \\t]+)?((?<=[ \\t])(?:${value}))?`,
  'gi',
);
/** A line of HSRP, VRRP or NHRP. */
const firstHops =
  /^(\s*(?:standby|vrrp|vrrp-group|glbp|ip(?:v6)? nhrp)\b.*? authentication (?:text |simple )?)(\S+)$/gim;
/** Keys of OSPFv3, behind their index. */
const ospfKeys = /^(\s*(?:ipv6 ospf|ospfv3|area)\b.* ipsec spi \d+ )\S.*$/gim;
/** Keys of BFD, behind their number. */
const bfdKeys = /^(\s*bfd\b.*\bkey-id \d+ )\S.*$/gim;
const communities = /\b(community(?: string)?)((?:["':=>\s]|<name>)+)("[^"]*"|[^\s,;}"'<]+)/gi;
const trapCommunities =
  /^(\s*snmp-server host \S+(?: (?:traps?|informs?|vrf \S+|version (?:1|2c|3 (?:auth|noauth|priv))|use-vrf \S+))*\s+)(\S+)/gim;
const userNames = /\b(username|snmp-server user|login user|local-user|user)(["':=\s]+)("[^"]*"|[^\s,;}"']+)/gi;
/** Hashes of crypt, Junos' `$9$`, keys of SSH, PEM. */
const bare =
  /\$(?:\d{1,2}|y|2[aby]|8)\$[^\s"',;]+|\b(?:ssh-(?:rsa|dss|ed25519)|ecdsa-sha2-\S+) [A-Za-z0-9+/=]{20,}|-----BEGIN [A-Z ]+-----[\s\S]*?-----END [A-Z ]+-----|\b(?=[0-9a-f]*[g-zG-Z+/])[A-Za-z0-9+/]{60,}={0,2}/g;

/** Where a BMC fetches a boot's CD: an address made of the boot's token. */
const bootMedium = /(\/media\/[\w-]+\/)[\w-]{40,}(?=\.iso\b)/g;

/** Tables of a SONiC configuration whose keys are secrets, or names of users. */
const secretTables = /community|snmp_user|local_user|^users?$/i;

/**
 * Masks passwords, communities, keys, hashes and names of users, in a configuration's text or in JSON. Descriptions stay: who
 * sends it reads it first.
 */
export function maskRecording(text: string): string {
  const document = parsed(text);
  return document === undefined ? maskText(text) : JSON.stringify(maskValue(document), null, 2);
}

function parsed(text: string): object | undefined {
  if (!/^\s*[[{]/.test(text)) return undefined;
  try {
    const document: unknown = JSON.parse(text);
    return typeof document === 'object' && document !== null ? document : undefined;
  } catch {
    return undefined;
  }
}

function maskText(text: string): string {
  return maskUrlLogins(text)
    .replace(bootMedium, `$1${masked}`)
    .replace(bare, masked)
    .replace(trapCommunities, (_, before: string) => `${before}${masked}`)
    .replace(secretWords, maskWord)
    .replace(firstHops, (_, before: string) => `${before}${masked}`)
    .replace(ospfKeys, (_, before: string) => `${before}${masked}`)
    .replace(bfdKeys, (_, before: string) => `${before}${masked}`)
    .replace(communities, (_, word: string, between: string) => `${word}${between}${masked}`)
    .replace(userNames, (_, word: string, between: string) => `${word}${between}${masked}`);
}

function maskWord(_: string, name: string, between: string, _value: string, type = '', behind?: string): string {
  return `${name}${between}${masked}${behind === undefined ? type : `${type}${masked}`}`;
}

function maskValue(value: unknown): unknown {
  if (typeof value === 'string') return maskText(value);
  if (Array.isArray(value)) return value.map(maskValue);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, entry]: [string, unknown]) => {
      const name = maskText(key);
      if (isSecretName(key) || /passkey|hashed|_cak$|^(psk|user_?name|.*_?key|community)$/i.test(key))
        return [name, masked];
      if (secretTables.test(key) && isTable(entry)) return [name, Object.fromEntries(Object.keys(entry).map(numbered))];
      // an Arista's configuration is keys
      return [name, maskValue(entry)];
    }),
  );
}

function isTable(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function numbered(_: string, index: number): [string, string] {
  return [`${masked}${index + 1}`, masked];
}
