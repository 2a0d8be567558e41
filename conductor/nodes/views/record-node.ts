import { z } from 'zod';
import type { NodeRow } from '#conductor/kernel/db/schema/node.ts';
import type { NodeInventoryRow } from '#conductor/kernel/db/schema/node-parts.ts';
import type { JsonObject } from '#conductor/model/json-object.ts';
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
 * Collects what the node's last inventory says (disks, cards, LLDP, what the ramdisk's collectors brought), the texts that it
 * was read from, and what its BMC answers. A BMC that is away, or whose driver records nothing, is a fault of the recording, not its end.
 */
export async function recordNode(
  { db, drivers }: Pick<NodesContext, 'db' | 'drivers'>,
  node: NodeRow,
  signal: AbortSignal,
): Promise<NodeRecording> {
  const kept = await findInventory(db, node.uuid);
  const inventory = InventoryDocument.safeParse(kept?.inventory);
  const { manufacturer, product_name: product } = (inventory.success && inventory.data.system_vendor) || {};
  const { texts, others, faults } = partsOf(kept);
  const bmc = await recordBmc(drivers, node, signal);
  return {
    system: [manufacturer, product, `driver ${node.driver}`].filter(Boolean).join(' '),
    outputs: {
      ...(kept ? { inventory: textOf(kept.inventory) } : {}),
      ...(others ? { 'plugin data': textOf(others) } : {}),
      ...texts,
      ...bmc.outputs,
    },
    faults: [...faults, ...bmc.faults],
  };
}

const PrintedTexts = z.record(z.string(), z.string());

/** Takes the texts that the agent's programs printed out of what else its collectors brought. */
function partsOf(kept: NodeInventoryRow | undefined): {
  readonly texts: Readonly<Record<string, string>>;
  readonly others: JsonObject | null;
  readonly faults: readonly string[];
} {
  if (!kept) return { texts: {}, others: null, faults: ['there is no inventory: inspect the node first'] };
  const { baton_texts: brought, ...others } = kept.pluginData ?? {};
  const texts = PrintedTexts.safeParse(brought);
  if (texts.success) return { texts: texts.data, others, faults: [] };
  const fault =
    "the machine's own texts (lsblk, udevadm, dmidecode): its last inspection brought none: inspect it again, by Baton's ramdisk";
  return { texts: {}, others: kept.pluginData, faults: [fault] };
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
