import type { Bmc } from '#conductor/drivers/interfaces.ts';
import type { NodeRow } from '#conductor/kernel/db/schema/node.ts';
import type { Log } from '#shared/log.ts';

export type FirmwareBootColumns = Partial<Pick<NodeRow, 'bootMode' | 'secureBoot'>>;

/**
 * Boot mode and secure boot as the BMC tells them, for the node's row; nothing where the driver can't ask. Nobody's
 * work depends on them: a BMC that fails here leaves what was read before, and the log says so.
 */
export async function readFirmwareBoot(
  bmc: Bmc,
  options: { readonly log: Log; readonly signal: AbortSignal },
): Promise<FirmwareBootColumns> {
  const { firmwareBoot } = bmc;
  if (!firmwareBoot) return {};
  try {
    const { bootMode, secureBoot } = await firmwareBoot.read({ signal: options.signal });
    return { bootMode: bootMode ?? null, secureBoot: secureBoot ?? null };
  } catch (error) {
    options.signal.throwIfAborted();
    options.log.warn({ err: error }, 'boot mode not read');
    return {};
  }
}
