/** Parts of a Junos configuration, beside interfaces and VLANs, that put a port into a network. Pure. */

const parts = [
  'switch-options',
  'ethernet-switching-options',
  'forwarding-options',
  'protocols (dot1x|authentication-access-control|mvrp|l2circuit|connections)',
  'services captive-portal',
  'routing-instances',
  'bridge-domains',
  'logical-systems',
  'tenants',
];
const inParts = `^set (${parts.join('|')}) `;

/** A part that this model lacks is no error here, as it would be when asked for by itself. */
export const elsewhereCommand = `show configuration | display inheritance no-comments | display set | match "${inParts}"`;

/** Lines that name a port of which no network depends. */
const apart = [
  / input (ingress|egress) interface /,
  /^switch-options interface \S+ (interface-mac-limit|mac-pinning|no-mac-learning|persistent-learning)( |$)/,
  /^ethernet-switching-options (secure-access-port|storm-control|bpdu-block) /,
];

export interface NamingLine {
  /** Without `set`. */
  readonly line: string;
  /** Names of interfaces. */
  readonly names: readonly string[];
}

/** These parts' lines that name interfaces. */
export function namingLines(text: string): NamingLine[] {
  const form = new RegExp(inParts);
  return text.split('\n').flatMap((each) => {
    const line = each.trim().slice('set '.length);
    const names = [...line.matchAll(/ interfaces? "?([^\s"]+)"?(?= |$)/g)].map(([, name = '']) => name);
    return form.test(each) && names.length > 0 && !apart.some((known) => known.test(line)) ? { line, names } : [];
  });
}
