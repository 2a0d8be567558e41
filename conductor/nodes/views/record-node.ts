import type { NodeRow } from '#conductor/kernel/db/schema/node.ts';
import type { NodesContext } from '#conductor/nodes/context.ts';
import { findInventory } from '#conductor/nodes/inspection/inventory-store.ts';
import { errorChain } from '#shared/errors/app-error.ts';
import { InventoryDocument } from '#shared/wire/inventory.ts';

export interface NodeRecording {
  /** Maker and product, as far as the inventory has them. */
  readonly system: string;
  readonly outputs: Readonly<Record<string, string>>;
  readonly faults: readonly string[];
}

/**
 * Collects what the node's last inventory says (disks, cards, LLDP, what the ramdisk's collectors brought), and what its BMC
 * answers. A BMC that is away, or whose driver records nothing, is a fault of the recording, not its end.
 */
export async function recordNode(
  { db, drivers }: Pick<NodesContext, 'db' | 'drivers'>,
  node: NodeRow,
  signal: AbortSignal,
): Promise<NodeRecording> {
  const kept = await findInventory(db, node.uuid);
  const inventory = InventoryDocument.safeParse(kept?.inventory);
  const { manufacturer, product_name: product } = (inventory.success && inventory.data.system_vendor) || {};
  const faults = kept ? [] : ['there is no inventory: inspect the node first'];
  const bmc = await recordBmc(drivers, node, signal);
  return {
    system: [manufacturer, product, `driver ${node.driver}`].filter(Boolean).join(' '),
    outputs: {
      ...(kept ? { inventory: textOf(kept.inventory) } : {}),
      ...(kept?.pluginData ? { 'plugin data': textOf(kept.pluginData) } : {}),
      ...bmc.outputs,
    },
    faults: [...faults, ...bmc.faults],
  };
}

async function recordBmc(
  drivers: NodesContext['drivers'],
  node: NodeRow,
  signal: AbortSignal,
): Promise<Pick<NodeRecording, 'outputs' | 'faults'>> {
  try {
    const { recorder } = drivers.connect(node, { node: node.uuid });
    if (recorder) return await recorder.record({ signal });
    return { outputs: {}, faults: [`driver ${node.driver} has no answers of a BMC to record`] };
  } catch (error) {
    if (signal.aborted) throw error;
    return { outputs: {}, faults: [`the BMC: ${errorChain(error)}`] };
  }
}

const textOf = (document: object): string => JSON.stringify(document, null, 2);
