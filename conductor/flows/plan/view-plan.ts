import type { PlanView } from '#conductor/api/flows.ts';
import { readIpxeSignature } from '#conductor/boot/ipxe-signature.ts';
import type { EngineContext } from '#conductor/flows/context.ts';
import { fakesFlow, simulatedWipe } from '#conductor/flows/log/fakes-flow.ts';
import { predictSeconds, takesAnyTime, typicalSeconds } from '#conductor/flows/log/step-durations.ts';
import { tenantBindings, tenantMoves, warnOfCables } from '#conductor/flows/network/node-network.ts';
import { findRequestedImage } from '#conductor/flows/plan/find-planned-image.ts';
import { isRefusal } from '#conductor/flows/plan/is-refusal.ts';
import { describeCertificate, lookAtImage } from '#conductor/flows/plan/look-at-image.ts';
import { type Plan, type PlanRequest, readPlan } from '#conductor/flows/plan/read-plan.ts';
import { warnOfDistrust } from '#conductor/flows/plan/warn-of-distrust.ts';
import { erasingSteps, findKeptChunks } from '#conductor/images/kept-chunks.ts';
import type { Caller } from '#conductor/kernel/caller.ts';
import type { NodeRow } from '#conductor/kernel/db/schema/node.ts';
import { maskDocument } from '#conductor/kernel/secrets/mask-document.ts';
import { openNodeDocument } from '#conductor/kernel/secrets/node-secrets.ts';
import type { FlowKind } from '#conductor/model/flows/flow-kind.ts';
import { flowKinds } from '#conductor/model/flows/flow-kinds.ts';
import { type PlanFacts, type PlannedStep, stepKey } from '#conductor/model/flows/planned-step.ts';
import type { JsonObject } from '#conductor/model/json-object.ts';
import type { KnownDisk, SparedDisk } from '#conductor/model/known-disk.ts';
import { settingOf } from '#conductor/networks/connect-node.ts';
import type { NeutronLook } from '#conductor/networks/neutron/connect-by-neutron.ts';
import { describePort } from '#conductor/networks/switch-driver.ts';
import { bootModeOf } from '#conductor/nodes/boot/boot-mode.ts';
import { isFastTracked, type UnusedRamdisk, unusedRamdisk } from '#conductor/nodes/boot/ramdisk-boot.ts';
import { whyBootIsRefused } from '#conductor/nodes/boot/refused-boot.ts';
import { inBandPrefix } from '#shared/bios/bios-setting.ts';
import { errorChain } from '#shared/errors/app-error.ts';

/**
 * The plan as operators read it; nothing is touched.
 * @throws AppError `invalid_argument` naming the step and what would be right.
 */
export async function viewPlan(
  context: Pick<EngineContext, 'clock' | 'db' | 'drivers' | 'config' | 'secrets' | 'networks' | 'steps'>,
  node: NodeRow,
  asked: PlanRequest,
  caller: Pick<Caller, 'project'>,
): Promise<PlanView> {
  const image = await findRequestedImage(context, node, asked.kind, caller);
  const request = { ...asked, pinnedImage: image?.pinned };
  const plan = await readPlan(context, node, request);
  const seconds = predictSeconds(plan.steps, await typicalSeconds(context.db, plan.steps));
  const switching = plan.steps.some(({ step }) => step === 'switch_to_tenant_network')
    ? await viewMoves(context, node)
    : { switch_ports: [] };
  const kept = await viewKept(context, node, plan);
  return {
    node: node.uuid,
    kind: request.kind,
    hash: await plan.hash(),
    complete: plan.isComplete,
    boot_mode: bootModeOf(node),
    reboots: plan.steps.filter(isReboot).length,
    predicted_seconds: seconds.total,
    destroys: plan.destroys.disks.map(({ disk, by }) => ({
      name: disk.name,
      serial: disk.serial,
      model: disk.model,
      size_bytes: disk.sizeBytes === 0 ? null : disk.sizeBytes,
      contents: describeContents(disk),
      by,
    })),
    ...(plan.destroys.protection.length === 0
      ? {}
      : { protects: plan.destroys.protection.map(({ entry, devices }) => ({ entry, devices: [...devices] })) }),
    switch_ports: switching.switch_ports,
    steps: plan.steps.map((step, index) => viewStep(step, index + 1, seconds.each[index] ?? null)),
    ...(kept ? { kept } : {}),
    warnings: [
      ...(switching.warning ?? []),
      ...(await warnOfCables(context, node)),
      ...planWarnings(plan, request, {
        isFastTracked: isFastTracked(context.config, node),
        sparedDisks: node.sparedDisks,
        owedWipe: node.owedWipe,
        fakesWipe: fakesFlow('wipe', node),
        unusedRamdisk: unusedRamdisk(context, node),
        ...(await readRefusedBoot(context, node)),
      }),
      ...(plan.steps.some(bootsRamdisk) ? await warnOfDistrust(context, node) : []),
      ...listBmcCertificate(node),
      ...(await lookAtImage(
        { ...plan, instanceInfo: clearInstance(context, node), image },
        context.config.outbound.images,
        caller,
      )),
    ],
  };
}

async function readRefusedBoot(
  { config }: Pick<EngineContext, 'config'>,
  node: NodeRow,
): Promise<{ readonly refusedBoot?: string | undefined; readonly refusedLater?: string | undefined }> {
  const ipxe = await readIpxeSignature(config.ipxeDirectory);
  return {
    refusedBoot: whyBootIsRefused(node, ipxe),
    refusedLater: whyBootIsRefused({ ...node, secureBoot: true }, ipxe),
  };
}

/** The BMC's certificate, as it was seen last: a plan asks no BMC. */
function listBmcCertificate({ driverInfo }: NodeRow): string[] {
  const { redfish_address: address } = driverInfo;
  const url = typeof address === 'string' && !address.includes('://') ? `https://${address}` : address;
  const said = typeof url === 'string' ? describeCertificate(url, new Date()) : undefined;
  return said === undefined ? [] : [said];
}

function clearInstance({ secrets }: Pick<EngineContext, 'secrets'>, node: NodeRow): JsonObject {
  return openNodeDocument(secrets, node, 'instanceInfo');
}

async function viewKept(
  context: Pick<EngineContext, 'db' | 'config' | 'secrets'>,
  node: NodeRow,
  { steps }: Pick<Plan, 'steps'>,
): Promise<PlanView['kept']> {
  const writes = steps.some((step) => stepKey(step) === 'deploy.write_image');
  if (!writes || steps.some(({ step }) => erasingSteps.includes(step))) return undefined;
  const instanceInfo = clearInstance(context, node);
  const kept = await findKeptChunks(context.db, context.config.imagesDirectory, { ...node, instanceInfo });
  return kept && { image: kept.image, bytes: kept.bytes, of_bytes: kept.ofBytes };
}

/** A plan does not wait for switches. Milliseconds. */
const lookMs = 5000;

async function viewMoves(
  context: Pick<EngineContext, 'db' | 'networks'>,
  node: NodeRow,
): Promise<{ switch_ports: PlanView['switch_ports']; warning?: string[] }> {
  try {
    const bindings = await tenantBindings(context, node, lookMs);
    if (bindings) return { switch_ports: bindings.map(viewBinding) };
    const moves = await tenantMoves(context, node);
    const { looks, failures } = await context.networks.look(moves, undefined, lookMs);
    return {
      switch_ports: moves.map((move) => {
        const seen = looks.find((each) => each.move === move);
        const failure = failures.find((each) => each.moves.includes(move));
        return {
          address: move.port.address,
          switch_id: move.switchEntry.switchId,
          port_id: move.portId,
          network: move.network?.name ?? null,
          vlans: describePort(settingOf(move)),
          found: seen ? describePort(seen.found) : null,
          commands: [...(seen?.commands ?? [])],
          error: failure ? errorChain(failure.error) : null,
        };
      }),
    };
  } catch (error) {
    if (!isRefusal(error)) throw error;
    const what = error.code === 'invalid_argument' ? 'The network is not set up' : 'The network is not known';
    return { switch_ports: [], warning: [`${what}: ${errorChain(error)}.`] };
  }
}

function viewBinding({ port, network, found, commands }: NeutronLook): PlanView['switch_ports'][number] {
  const { switch_id: switchId, port_id: portId } = port.localLinkConnection;
  return {
    address: port.address,
    switch_id: String(switchId),
    port_id: String(portId),
    network,
    vlans: 'set by Neutron',
    found,
    commands: [...commands],
    error: null,
  };
}

const rebootSteps = new Set(['deploy', 'boot_ramdisk', 'reboot_ramdisk', 'boot_instance', 'reboot', 'power_on']);

function isReboot(step: PlannedStep): boolean {
  if (step.args['deploy_boot'] === 'kexec') return false;
  return !step.inBand && (step.interface === 'bios' ? !isAgentsOwn(step) : rebootSteps.has(step.step));
}

/** The BMC's settings take effect with a reset; those that only the agent has are set at once. */
function isAgentsOwn({ args }: PlannedStep): boolean {
  const { settings } = args;
  const isOwn = (setting: unknown): boolean =>
    typeof setting === 'object' && setting !== null && String(Reflect.get(setting, 'name')).startsWith(inBandPrefix);
  return Array.isArray(settings) && settings.length > 0 && settings.every(isOwn);
}

function viewStep(step: PlannedStep, position: number, seconds: number | null): PlanView['steps'][number] {
  return {
    position,
    interface: step.interface,
    step: step.step,
    priority: step.priority,
    origin: step.origin,
    in_band: step.inBand,
    args: maskDocument(step.args),
    reboot_requested: step.rebootRequested,
    abortable: step.abortable,
    plugin: step.plugin ?? null,
    reason: step.reason,
    predicted_seconds: seconds,
  };
}

/** `/dev/vda1: ext4 "root"`; `not known` where the inventory has nothing. */
function describeContents(disk: KnownDisk): string[] {
  if (disk.contents === null) return ['not known'];
  return disk.contents.map(
    ({ name, type, label }) => `${name}: ${type ?? 'nothing known'}${label === null ? '' : ` "${label}"`}`,
  );
}

/** Lists what the operator should know of a plan that its steps don't say (pure). */
export function planWarnings(
  plan: Pick<Plan, 'steps' | 'isComplete' | 'inventoriedAt' | 'destroys'> & {
    readonly facts: Pick<Plan['facts'], 'isStale' | 'withoutAgent' | 'priorities' | 'advertised' | 'drivers'>;
  },
  request: Pick<PlanRequest, 'kind' | 'wipe'>,
  node: {
    readonly isFastTracked: boolean;
    readonly sparedDisks?: NodeRow['sparedDisks'];
    readonly owedWipe?: NodeRow['owedWipe'];
    /** A wipe does nothing at it. */
    readonly fakesWipe?: boolean;
    readonly unusedRamdisk?: UnusedRamdisk;
    /** The firmware refuses the ramdisk's loader, and why. */
    readonly refusedBoot?: string | undefined;
    /** So it would with Secure Boot on. */
    readonly refusedLater?: string | undefined;
  },
): string[] {
  const kind = flowKinds[request.kind];
  const { inventoriedAt: inventoried, facts, steps } = plan;
  const usesDisks = steps.some((step) => step.inBand);
  const asksAgain = kind.inBand !== undefined && facts.isStale === true && facts.withoutAgent === undefined;
  return [
    ...(plan.isComplete
      ? []
      : ["The agent's steps are not known: this node's ramdisk has not been asked yet. It may add steps of its own."]),
    ...(plan.isComplete && asksAgain
      ? ["The agent's steps are those of its last boot; a new ramdisk is asked again, and the plan is made again."]
      : []),
    ...(asksAgain ? warnOfEarlySteps(kind, steps) : []),
    ...warnOfPriorities(plan.facts),
    ...(request.kind === 'clean' && facts.advertised?.length === 0
      ? ['The agent has no clean steps: it erases nothing.']
      : []),
    ...(node.isFastTracked ? warnOfFastTrack(steps) : []),
    ...(steps.some(bootsRamdisk) ? warnOfRamdisk(node.unusedRamdisk) : []),
    ...warnOfRefusal(steps, node),
    ...warnOfRests(steps),
    ...warnOfLateResets(steps),
    ...(usesDisks && !inventoried
      ? ['The disks are not known: inspect or clean the node once to see what will be destroyed.']
      : []),
    ...(usesDisks && inventoried ? [`Disks as inventoried ${inventoried.toISOString()}.`] : []),
    ...(usesDisks && request.kind !== 'wipe' ? warnOfSpared(node.sparedDisks ?? []) : []),
    ...(node.fakesWipe && (request.kind === 'wipe' || request.wipe) ? [`The wipe is ${simulatedWipe}.`] : []),
    ...(request.kind === 'wipe' && node.owedWipe
      ? ['A requested wipe has not completed: until it has, it replaces cleaning.']
      : []),
    ...plan.destroys.warnings,
  ];
}

/** Warns of steps that are done before the ramdisk boots, and so before its list of steps can be checked. */
function warnOfEarlySteps(kind: FlowKind, steps: readonly PlannedStep[]): string[] {
  const boot = steps.findIndex((step) => stepKey(step) === 'deploy.deploy');
  const early = steps.slice(0, Math.max(boot, 0)).filter((step) => step.origin !== 'core');
  if (!kind.inBand?.window || early.length === 0) return [];
  const { lowest, highest } = kind.inBand.window;
  return [
    `${early.map(stepKey).join(', ')}: done before the ramdisk boots and is asked for its steps. Should one of those ` +
      `be refused then (a priority outside ${lowest} to ${highest}, an unknown step), the deploy fails with these done.`,
  ];
}

/** Mistyped, an erasure that it is to ask for is left out. */
function warnOfPriorities({
  priorities,
  advertised,
  drivers = [],
}: Pick<PlanFacts, 'priorities' | 'advertised' | 'drivers'>): string[] {
  if (!priorities || !advertised) return [];
  const known = new Set([...advertised, ...drivers].map(stepKey));
  const unknown = [...priorities.keys()].filter((key) => !known.has(key));
  if (unknown.length === 0) return [];
  return [`BATON_CLEAN_STEP_PRIORITIES: this node's agent and driver have no step ${unknown.join(', ')}.`];
}

function bootsRamdisk({ origin, step }: PlannedStep): boolean {
  return origin === 'core' && ['deploy', 'boot_ramdisk'].includes(step);
}

/** metal3 and others write them for Ironic, whose ramdisk they are. */
function warnOfRamdisk({ keys, fault, isRefused }: UnusedRamdisk = { keys: [] }): string[] {
  if (keys.length === 0) return [];
  if (fault !== undefined && isRefused) return [`No ramdisk is booted: ${fault}.`];
  const why = fault ?? 'with BATON_NODE_RAMDISKS=true the conductor boots deploy_kernel with deploy_ramdisk, over iPXE';
  return [`driver_info.${keys.join(', ')}: not booted, but Baton's own ramdisk (${why}).`];
}

/** Warns of a boot that the firmware refuses, now or once a step has switched Secure Boot on. */
function warnOfRefusal(
  steps: readonly PlannedStep[],
  { refusedBoot, refusedLater }: Parameters<typeof planWarnings>[2],
): string[] {
  const switching = steps.findLast((step) => stepKey(step) === 'management.secure_boot');
  if (switching?.args['secure_boot'] === true && refusedLater !== undefined)
    return [`management.secure_boot: from then on ${refusedLater}.`];
  return steps.some(bootsRamdisk) && !switching && refusedBoot !== undefined ? [`${refusedBoot}.`] : [];
}

function warnOfFastTrack(steps: readonly PlannedStep[]): string[] {
  const boots = steps.find(bootsRamdisk);
  if (!boots) return [];
  return [
    `Fast track: where the ramdisk of an earlier flow still runs, ${stepKey(boots)} boots nothing; that is one reboot ` +
      'less than is counted here, and less time.',
  ];
}

function warnOfSpared(spared: readonly SparedDisk[]): string[] {
  if (spared.length === 0) return [];
  const names = spared.map(({ serial, wwn }) => serial ?? wwn).join(', ');
  return [
    `A wipe has preserved ${names}: no step touches them until the next instance is released, but a wipe of all disks.`,
  ];
}

/** Out-of-band steps that reset the machine, or end by doing so. */
const resetting = /^(bios\.\w+|firmware\.update|raid\.\w+|power\.(reboot|power_off|rebooting))$/;

/** After the instance has been booted, a reset meets it amid its first start. */
function warnOfLateResets(steps: readonly PlannedStep[]): string[] {
  const boot = steps.findIndex((step) => step.origin === 'core' && stepKey(step) === 'deploy.boot_instance');
  if (boot === -1) return [];
  const late = steps.slice(boot + 1).filter((step) => step.origin !== 'core' && resetting.test(stepKey(step)));
  if (late.length === 0) return [];
  return [
    `${late.map(stepKey).join(', ')}: comes after deploy.boot_instance and resets the machine while its instance ` +
      'starts. A priority above 20 is before it.',
  ];
}

function warnOfRests(steps: readonly PlannedStep[]): string[] {
  const rests = [...new Set(steps.filter(takesAnyTime).map(stepKey))];
  return rests.length === 0 ? [] : [`The time that ${rests.join(', ')} takes is not included.`];
}
