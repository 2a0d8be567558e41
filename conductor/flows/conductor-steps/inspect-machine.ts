import { askForInventory } from '#conductor/agents/ask-agent.ts';
import { readFirmware, rememberFirmware } from '#conductor/flows/bmc/firmware-store.ts';
import type { ConductorStep, ConductorStepOutcome, StepContext } from '#conductor/flows/step-context.ts';
import type { JsonObject } from '#conductor/model/json-object.ts';
import { attestationOf } from '#conductor/model/tpm/attestation-mode.ts';
import { readFirmwareBoot } from '#conductor/nodes/boot/boot-mode.ts';
import { applyInspection } from '#conductor/nodes/inspection/apply-inspection.ts';
import { applyRules } from '#conductor/nodes/inspection/apply-rules.ts';
import { inventoryByBmc } from '#conductor/nodes/inspection/bmc-inventory.ts';
import { findInventory } from '#conductor/nodes/inspection/inventory-store.ts';
import { neighboursOf } from '#conductor/nodes/inspection/moved-cables.ts';
import { AppError } from '#shared/errors/app-error.ts';
import { InventoryDocument } from '#shared/wire/inventory.ts';

async function collect(context: StepContext): Promise<ConductorStepOutcome> {
  const { inventory, pluginData } = (await deliveredInventory(context)) ?? {
    inventory: await askForInventory(context.agent()),
    pluginData: {},
  };
  const { error } = pluginData;
  if (error !== undefined && error !== null) {
    throw new AppError(
      'agent_error',
      `the ramdisk's inspection has failed: ${typeof error === 'string' ? error : JSON.stringify(error)}`,
    );
  }
  const found = { nodeUuid: context.node.uuid, inventory, pluginData };
  // before the transaction: a switch may take its time
  const document = InventoryDocument.safeParse(inventory);
  const placeOf = await context.networks.askPlaces(document.success ? neighboursOf(document.data) : [], context.signal);
  const output = await context.record(async (tx) => {
    const summary = await applyInspection(tx, {
      ...found,
      placeOf,
      conductor: context.config.conductorName,
      now: context.clock.now(),
    });
    await applyRules(tx, context, context.node.uuid);
    return summary;
  });
  return { kind: 'done', output };
}

/**
 * Finds the inventory that the ramdisk has sent by itself since this inspection began (`POST /v1/continue_inspection`).
 */
async function deliveredInventory(
  context: StepContext,
): Promise<{ readonly inventory: JsonObject; readonly pluginData: JsonObject } | undefined> {
  // a report proves nothing about its sender; the agent that has called in has proved itself
  if (attestationOf(context.config, context.node) === 'require') return undefined;
  const latest = await context.ask(findInventory(context.db, context.node.uuid));
  return latest && latest.collectedAt >= context.flow.startedAt ? latest : undefined;
}

export const collectInventory: ConductorStep = {
  interface: 'deploy',
  step: 'collect_inventory',
  description: "Keeps the inventory (`baremetal node inventory save NODE`); fills the node's properties and ports.",
  run: collect,
};

async function read(context: StepContext): Promise<ConductorStepOutcome> {
  const { node, signal, hide } = context;
  const bmc = context.bmc();
  if (!bmc.inspection)
    throw new AppError('not_supported', `driver ${node.driver} can't ask the BMC what the machine has`);
  const machine = await bmc.inspection.readMachine({ signal });
  const { cpu, memoryMb, cards, disks } = machine;
  const unknown = machine.unknown.map(({ part, why }) => ({ part, why: hide(why) }));
  if (cpu?.count === undefined && memoryMb === undefined && cards.length + disks.length === 0) {
    const why = unknown.map((each) => each.why).join('; ');
    throw new AppError('bmc_error', `the BMC shows nothing of the machine: ${why}`);
  }
  const { bootMode, secureBoot } = await readFirmwareBoot(bmc, { log: context.log, signal });
  const firmware = await readFirmware(context);
  const inventory = {
    ...inventoryByBmc({ ...machine, unknown }),
    ...(bootMode ? { boot: { current_boot_mode: bootMode } } : {}),
  };
  // before the transaction: a switch may take its time
  const placeOf = await context.networks.askPlaces(neighboursOf(InventoryDocument.parse(inventory)), signal);
  const output = await context.record(async (tx) => {
    const now = context.clock.now();
    const summary = await applyInspection(tx, {
      nodeUuid: node.uuid,
      inventory,
      pluginData: {},
      placeOf,
      byBmc: { unknown: unknown.map(({ part, why }) => `${part}: ${why}`) },
      conductor: context.config.conductorName,
      now,
    });
    if (firmware) await rememberFirmware(tx, node.uuid, firmware, { now });
    await applyRules(tx, context, node.uuid);
    return summary;
  });
  const known = { ...(bootMode ? { bootMode } : {}), ...(secureBoot == null ? {} : { secureBoot }) };
  return { kind: 'done', output, record: () => Promise.resolve(known) };
}

export const readMachine: ConductorStep = {
  interface: 'deploy',
  step: 'read_machine',
  description:
    "Asks the BMC what the machine is made of, on or off, and leaves it alone; fills the node's inventory, properties and ports with what it shows.",
  run: read,
};
