import { isIP } from 'node:net';
import type { NodeRow } from '#conductor/kernel/db/schema/node.ts';
import type { JsonObject } from '#conductor/model/json-object.ts';
import type { DiscoverySource } from '#conductor/nodes/inspection/discovery-shares.ts';
import { type DiscoveryContext, enrolDiscovered } from '#conductor/nodes/inspection/enrol-discovered.ts';
import { findInspectedNode, type InspectedMachine } from '#conductor/nodes/inspection/find-inspected-node.ts';
import { recordInspected } from '#conductor/nodes/inspection/inventory-store.ts';
import { addStrangersHistory } from '#conductor/nodes/node-history.ts';
import { AppError } from '#shared/errors/app-error.ts';
import { describeIssues } from '#shared/errors/describe-issues.ts';
import { isBmcLink, parseCardAddress } from '#shared/mac-address.ts';
import { InspectionReport, type InventoryDocument } from '#shared/wire/inventory.ts';

/**
 * Serves `POST /v1/continue_inspection` (agent-protocol.md §2.5): keeps what the ramdisk has found until its agent calls in
 * and the flow takes it up (`collect_inventory`). An unknown machine is enrolled where discovery is on.
 * @throws AppError `invalid_argument` for a report without anything to know the machine by, `not_found` where no node
 * under inspection is this machine.
 */
export async function continueInspection(
  context: DiscoveryContext,
  body: JsonObject,
  nodeUuid: string | undefined,
  source?: DiscoverySource,
): Promise<NodeRow> {
  const report = InspectionReport.safeParse(body);
  if (!report.success) {
    throw new AppError('invalid_argument', `Invalid inspection data: ${describeIssues(report.error)}`);
  }
  const { addresses, bmcAddresses } = readIdentities(report.data.inventory);
  if (addresses.length + bmcAddresses.length === 0) {
    throw new AppError(
      'invalid_argument',
      'No lookup information provided: inventory.interfaces[].mac_address must name at least one network card.',
    );
  }
  // logs of a healthy machine are large, and nobody reads them
  const { inventory, logs: _, ...pluginData } = body;
  const machine = { addresses, bmcAddresses, nodeUuid };
  const node = await findInspectedNode(context, machine);
  if (node === undefined) {
    const found = { document: report.data.inventory, inventory: inventory as JsonObject, pluginData };
    return enrolDiscovered(context, machine, found, source);
  }
  await context.db.transaction(async (tx) => {
    await recordInspected(tx, { nodeUuid: node.uuid, inventory: inventory as JsonObject, pluginData });
    await addStrangersHistory(tx, {
      nodeUuid: node.uuid,
      eventType: 'inspection',
      event: 'ramdisk has sent what it found',
      conductor: context.config.conductorName,
    });
  });
  return node;
}

/** Reads the addresses by which a machine may be known again, from its ramdisk's findings. Pure. */
export function readIdentities({
  interfaces,
  bmc_address: bmc,
  bmc_v6address: bmcV6,
}: InventoryDocument): Pick<InspectedMachine, 'addresses' | 'bmcAddresses'> {
  return {
    addresses: interfaces.flatMap(({ mac_address: mac, driver }) => {
      const macAddress = parseCardAddress(mac ?? '');
      return macAddress === undefined || isBmcLink({ macAddress, driver }) ? [] : [macAddress];
    }),
    // ironic-python-agent sends `0.0.0.0` and `::/0` where a BMC has no address
    bmcAddresses: [bmc, bmcV6].flatMap((text) => {
      const address = text?.replace(/\/\d+$/, '') ?? '';
      return isIP(address) !== 0 && !noAddress.test(address) ? [address] : [];
    }),
  };
}

/** Not set, or reached from the machine or its link alone. */
const noAddress = /^(?:0\.|127\.|169\.254\.|255\.255\.255\.255$|::1?$|fe[89ab])/i;
