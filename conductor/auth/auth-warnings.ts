import type { AuthConfig, TlsConfig } from '#conductor/auth/auth-settings.ts';
import { isLoopbackHost } from '#shared/peers/address-ranges.ts';
import type { OutboundConfig } from '#shared/peers/outbound-url.ts';

/** What is legal and seldom meant; for the log, at the start. */
export function authWarnings({
  host,
  auth,
  tls,
  outbound,
}: {
  readonly host: string;
  readonly auth: Pick<AuthConfig, 'method'>;
  readonly tls: TlsConfig | undefined;
  readonly outbound: Pick<OutboundConfig, 'agents'>;
}): string[] {
  if (auth.method === 'none' || isLoopbackHost(host)) return [];
  return [
    ...(tls
      ? []
      : [
          `BATON_AUTH=${auth.method} with BATON_HOST=${host} and without BATON_TLS_CERT_FILE: passwords and tokens go over ` +
            'the network in clear, unless a proxy on this host or a trusted network ends TLS',
        ]),
    ...(outbound.agents.allow
      ? []
      : [
          'BATON_AGENT_NETWORKS is not set: any client that can reach this port and knows the MAC address of a booting ' +
            'machine can pose as its agent; set it to the networks that ramdisks boot in',
        ]),
  ];
}
