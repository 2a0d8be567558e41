import type { SwitchTransport } from '#conductor/networks/switch-driver.ts';
import { AppError } from '#shared/errors/app-error.ts';

export interface SwitchEndpoint {
  readonly transport: SwitchTransport;
  readonly host: string;
  readonly port: number;
}

const defaultPorts: Readonly<Record<SwitchTransport, number>> = { ssh: 22, https: 443, netconf: 830 };

/** `ssh:192.0.2.1`, `https://leaf1:8765`, `netconf:[2001:db8::1]:830`; `undefined` for what is none. */
function parseEndpoint(endpoint: string): SwitchEndpoint | undefined {
  const match = /^([a-z]+):(?:\/\/)?(?:\[([0-9a-fA-F:.]+)\]|([^:[\]\s/@?#]+))(?::(\d{1,5}))?\/?$/.exec(endpoint);
  const transport = (Object.keys(defaultPorts) as SwitchTransport[]).find((each) => each === match?.[1]);
  const host = match?.[2] ?? match?.[3];
  if (transport === undefined || host === undefined) return undefined;
  const port = Number(match?.[4] ?? defaultPorts[transport]);
  return port >= 1 && port <= 65_535 ? { transport, host, port } : undefined;
}

/** @throws AppError `invalid_argument` naming the right forms. */
export function requireEndpoint(endpoint: string, transports: readonly SwitchTransport[]): SwitchEndpoint {
  const parsed = parseEndpoint(endpoint);
  if (parsed && transports.includes(parsed.transport)) return parsed;
  const forms = transports.flatMap((each) => [`${each}:192.0.2.1`, `${each}:[2001:db8::1]:${defaultPorts[each]}`]);
  throw new AppError('invalid_argument', `switch endpoint ${endpoint} is not of the form ${forms.join(', ')}`);
}
