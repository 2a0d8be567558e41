import { randomUUID } from 'node:crypto';
import { type Answer, errorAnswer, parseObject } from '#test/simulators/redfish/answers.ts';
import type { Quirks } from '#test/simulators/redfish/faults.ts';
import type { ServiceState } from '#test/simulators/redfish/service-state.ts';
import { awaitReset, perform } from '#test/simulators/redfish/tasks.ts';

/** UpdateService with SimpleUpdate and a firmware inventory (DMTF UpdateService, SoftwareInventory). */

export const updateServicePath = '/redfish/v1/UpdateService';
export const simpleUpdatePath = `${updateServicePath}/Actions/UpdateService.SimpleUpdate`;
const inventoryPath = `${updateServicePath}/FirmwareInventory`;
const nicPath = `${inventoryPath}/NIC.Slot.1`;

const parts = ['bios', 'bmc', 'nic'] as const;
type Part = (typeof parts)[number];

export interface SimulatedFirmware {
  versions: Readonly<Record<Part, string>>;
  /** What the machine runs from its next reset on. */
  pending: Partial<Record<Part, string>>;
  /** Those that its next reset ends. */
  tasks: string[];
}

export function createSimulatedFirmware(): SimulatedFirmware {
  return { versions: { bios: '1.0.0', bmc: '1.0.0', nic: '1.0.0' }, pending: {}, tasks: [] };
}

/** What the machine does when it starts. */
export function bootFirmware({ firmware, tasks }: Pick<ServiceState, 'firmware' | 'tasks'>): void {
  firmware.versions = { ...firmware.versions, ...firmware.pending };
  firmware.pending = {};
  for (const id of firmware.tasks.splice(0)) tasks.set(id, { polls: 0, failed: false });
}

/** Images name what they are in their URL, as `…/bios-2.1.0.bin`; the BMC's own is at work at once, and ends its sessions and tasks. */
export async function simpleUpdate(state: ServiceState, text: string): Promise<Answer> {
  const body = parseObject(text);
  if (body === undefined) return errorAnswer(400, 'MalformedJSON');
  const { firmware, quirks } = state;
  if (quirks.simpleUpdate === 'with its protocol' && body['TransferProtocol'] === undefined) {
    return errorAnswer(400, 'ActionParameterMissing');
  }
  const [, name, version] = /\/([a-z]+)-([\d.]+)\.bin$/.exec(String(body['ImageURI'])) ?? [];
  const part = parts.find((each) => each === name);
  if (part === undefined || version === undefined) {
    return errorAnswer(400, 'PropertyValueError', { text: 'The image could not be read.' });
  }
  const targets = body['Targets'] as readonly string[] | undefined;
  if (part === 'nic' && targets?.[0] !== nicPath) {
    return errorAnswer(400, 'PropertyValueError', { text: 'The image is not for the target.' });
  }
  if (quirks.updatesAtReset && part !== 'bmc') {
    const id = randomUUID().slice(0, 8);
    firmware.pending[part] = version;
    firmware.tasks.push(id);
    return awaitReset(state, id);
  }
  // python3-sushy takes nothing but a task from it
  const answer = await perform({ ...state, quirks: { ...quirks, tasks: true } }, () => {
    if (part === 'bmc') firmware.versions = { ...firmware.versions, bmc: version };
    else firmware.pending[part] = version;
    return Promise.resolve();
  });
  if (part === 'bmc' && quirks.forgetsTasks) {
    state.tasks.clear();
    state.sessions.clear();
  }
  return answer;
}

/** The resources, by path. */
export function updateResources(
  { versions }: SimulatedFirmware,
  quirks: Quirks,
): Record<string, Record<string, unknown>> {
  if (quirks.simpleUpdate === 'none') return {};
  const items = [
    ['BIOS', versions.bios, false],
    ['NIC.Slot.1', versions.nic, true],
  ] as const;
  return {
    [updateServicePath]: {
      '@odata.type': '#UpdateService.v1_8_0.UpdateService',
      Id: 'UpdateService',
      Name: 'Update service',
      ServiceEnabled: true,
      FirmwareInventory: { '@odata.id': inventoryPath },
      Actions: { '#UpdateService.SimpleUpdate': { target: simpleUpdatePath } },
    },
    [inventoryPath]: {
      '@odata.type': '#SoftwareInventoryCollection.SoftwareInventoryCollection',
      Name: 'Firmware inventory',
      'Members@odata.count': items.length,
      Members: items.map(([id]) => ({ '@odata.id': `${inventoryPath}/${id}` })),
    },
    ...Object.fromEntries(
      items.map(([id, version, updateable]) => [
        `${inventoryPath}/${id}`,
        {
          '@odata.type': '#SoftwareInventory.v1_3_0.SoftwareInventory',
          Id: id,
          Name: id,
          Version: version,
          Updateable: updateable,
        },
      ]),
    ),
  };
}
