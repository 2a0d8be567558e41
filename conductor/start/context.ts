import type { Allocator } from '#conductor/allocations/allocator.ts';
import type { DhcpConfig } from '#conductor/boot/dhcp/dhcp-settings.ts';
import type { HttpConfig, HttpContext } from '#conductor/http/context.ts';
import type { TraceConfig } from '#conductor/kernel/traces/trace-settings.ts';

export interface ConductorConfig extends HttpConfig {
  readonly logLevel: string;
  readonly dataDirectory: string;
  readonly databaseUrl: string | undefined;
  readonly postgresqlUser: string | undefined;
  readonly postgresqlBinDirectory: string | undefined;
  /** With `databaseUrl` never `undefined`. */
  readonly secretKeyFile: string | undefined;
  readonly networksFile: string | undefined;
  readonly inspectionRulesFile: string | undefined;
  /** `undefined` = none of its own. */
  readonly dhcp: DhcpConfig | undefined;
  /** Below which nodes may name authorities of BMCs. */
  readonly caDirectory: string;
  readonly powerSyncIntervalMs: number;
  readonly switchLookIntervalMs: number;
  /** Where flows go as traces; `undefined` = nowhere. */
  readonly traces: TraceConfig | undefined;
}

/** Everything that a conductor's parts share, each of which declares what it needs: made once, by `openContext`. */
export interface ConductorContext extends HttpContext {
  readonly config: ConductorConfig;
  readonly allocator: Allocator;
}
