import type { RedfishConnection } from '#conductor/drivers/redfish/driver-info.ts';
import type { RedfishSystem } from '#conductor/drivers/redfish/system.ts';
import type { OutboundRules } from '#shared/peers/outbound-url.ts';

/** What it takes to open a serial console. */
export interface LineContext {
  readonly system: RedfishSystem;
  readonly connection: RedfishConnection;
  readonly outbound: OutboundRules | undefined;
  readonly signal: AbortSignal;
}
