import { notUnderstood } from '#conductor/networks/switches/command-line/lines/parse-answer.ts';

/** Parts of a Junos configuration, beside interfaces and VLANs, that put a port into a network; and how lines of it look. Pure. */

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

/**
 * A part that this model lacks is no error here, as it would be when asked for by itself. Each configuration has a version,
 * which shows that it was seen; interfaces and VLANs come twice, so that lines that one answer lacks are in the other.
 */
export const elsewhereCommand = `show configuration | display inheritance no-comments | display set | match "^set (version|interfaces|vlans|${parts.join('|')}) "`;

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

/** Any other line is a warning, or a refusal that is not known as one. */
const ofDisplaySet = /^(set|deactivate|activate|protect|unprotect) /;
/** Stands before the prompt of a member of a stack: `{master:0}`. */
const banner = /^\{[a-z]+(:\w+)?\}$/;

/**
 * Holds answers about one part against their form.
 * @throws AppError `switch_error` for a line that `display set` does not print of that part
 */
export function requireLinesOf(part: 'interfaces' | 'vlans', text: string): void {
  requireAccess(text);
  const odd = text
    .split('\n')
    .map((line) => line.trim())
    .filter(
      (line) =>
        line !== '' &&
        !line.startsWith('#') &&
        !banner.test(line) &&
        !(ofDisplaySet.test(line) && line.split(' ')[1] === part),
    );
  if (odd.length > 0) throw notUnderstood(`about its ${part} has lines that are no settings`, odd.join('\n'));
}

/** @throws AppError `switch_error` for an answer that doesn't show the configuration. */
export function requireWhole(text: string): void {
  requireAccess(text);
  if (!/^set version \S/m.test(text))
    throw notUnderstood('does not show its configuration, which has a version line', text);
}

function requireAccess(text: string): void {
  if (/^\s*\/\* ACCESS-DENIED \*\//m.test(text))
    throw notUnderstood(
      'keeps parts of its configuration back: give the account a class with the permission view-configuration',
      'ACCESS-DENIED',
    );
}
