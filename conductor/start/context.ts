import type { AgentClients } from '#conductor/agents/agent-client.ts';
import type { Consoles } from '#conductor/agents/console/consoles.ts';
import type { Allocator } from '#conductor/allocations/allocator.ts';
import type { Authenticator } from '#conductor/auth/authenticator.ts';
import type { Drivers } from '#conductor/drivers/registry.ts';
import type { Register } from '#conductor/kernel/conductors/register.ts';
import type { Database, Queryable } from '#conductor/kernel/db/open.ts';
import type { Metrics } from '#conductor/kernel/metrics/metrics.ts';
import type { Secrets } from '#conductor/kernel/secrets/secrets.ts';
import type { NetworkConnector } from '#conductor/networks/connect-node.ts';
import type { PluginFiles } from '#conductor/sites/plugins/plugin-files.ts';
import type { ConductorConfig } from '#conductor/start/config.ts';
import type { Clock } from '#shared/clock.ts';
import type { Log } from '#shared/log.ts';
import type { Run } from '#shared/process/run.ts';

/** `started` and `recorded` are commits to the intent log; a crash at `acted` makes the step run twice. */
export type Checkpoint = 'started' | 'acted' | 'recorded';

/** Everything the conductor's parts share; made once by `main.ts`. A function declares the slice that it needs. */
export interface ConductorContext {
  readonly config: ConductorConfig;
  readonly database: Database;
  readonly db: Queryable;
  readonly log: Log;
  readonly clock: Clock;
  readonly run: Run;
  /** What is secret is sealed where it stands, also in rows; opened where it is used. */
  readonly secrets: Secrets;
  /** Who callers of the API are. */
  readonly auth: Authenticator;
  readonly drivers: Drivers;
  readonly agents: AgentClients;
  readonly pluginFiles: PluginFiles;
  readonly networks: NetworkConnector;
  readonly consoles: Consoles;
  readonly allocator: Allocator;
  readonly conductors: Register;
  readonly metrics: Metrics;
  /** Aborts when the conductor begins to stop: it is not ready any more, but answers while others take over. */
  readonly stopping: AbortSignal;
  /** Something about the node has changed: look at its flow and its targets now. Returns at once, never throws. */
  readonly nudge: (nodeUuid: string, origin?: 'agent' | 'operator') => void;
  /** Called where a crash must lose nothing; tests kill, fail or stop there. */
  readonly checkpoint: (name: Checkpoint) => void;
}
