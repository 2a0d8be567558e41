import type { PlanView } from '#conductor/api/flows.ts';
import type { EngineContext } from '#conductor/flows/context.ts';
import { fakesFlow } from '#conductor/flows/fakes-flow.ts';
import { tenantBindings, tenantMoves, warnOfCables } from '#conductor/flows/node-network.ts';
import { planWarnings } from '#conductor/flows/plan-warnings.ts';
import { type Plan, type PlanRequest, readPlan } from '#conductor/flows/read-plan.ts';
import { predictSeconds, typicalSeconds } from '#conductor/flows/step-durations.ts';
import { erasingSteps, findKeptChunks } from '#conductor/images/kept-chunks.ts';
import type { NodeRow } from '#conductor/kernel/db/schema/node.ts';
import { maskDocument } from '#conductor/kernel/secrets/mask-document.ts';
import { openNodeDocument } from '#conductor/kernel/secrets/node-secrets.ts';
import type { KnownDisk } from '#conductor/model/known-disk.ts';
import { type PlannedStep, stepKey } from '#conductor/model/planned-step.ts';
import { settingOf } from '#conductor/networks/connect-node.ts';
import type { NeutronLook } from '#conductor/networks/neutron/connect-by-neutron.ts';
import { describePort } from '#conductor/networks/switch-driver.ts';
import { bootModeOf } from '#conductor/nodes/boot-mode.ts';
import { isFastTracked, unusedRamdisk } from '#conductor/nodes/ramdisk-boot.ts';
import { inBandPrefix } from '#shared/bios/bios-setting.ts';
import { AppError, errorChain } from '#shared/errors/app-error.ts';

/**
 * The plan as operators read it; nothing is touched.
 * @throws AppError `invalid_argument` naming the step and what would be right.
 */
export async function viewPlan(
  context: Pick<EngineContext, 'db' | 'drivers' | 'config' | 'secrets' | 'networks'>,
  node: NodeRow,
  request: PlanRequest,
): Promise<PlanView> {
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
      }),
    ],
  };
}

async function viewKept(
  { db, config, secrets }: Pick<EngineContext, 'db' | 'config' | 'secrets'>,
  node: NodeRow,
  { steps }: Pick<Plan, 'steps'>,
): Promise<PlanView['kept']> {
  const writes = steps.some((step) => stepKey(step) === 'deploy.write_image');
  if (!writes || steps.some(({ step }) => erasingSteps.includes(step))) return undefined;
  const instanceInfo = openNodeDocument(secrets, node, 'instanceInfo');
  const kept = await findKeptChunks(db, config.imagesDirectory, { ...node, instanceInfo });
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
    if (!(error instanceof AppError) || error.code === 'database_error') throw error;
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

/** `/dev/vda1: ext4 "root"`; what is not known is said to be so. */
function describeContents(disk: KnownDisk): string[] {
  if (disk.contents === null) return ['not known'];
  return disk.contents.map(
    ({ name, type, label }) => `${name}: ${type ?? 'nothing known'}${label === null ? '' : ` "${label}"`}`,
  );
}
