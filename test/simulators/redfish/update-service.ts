import { randomUUID } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { type Answer, errorAnswer, parseObject } from '#test/simulators/redfish/answers.ts';
import type { Quirks } from '#test/simulators/redfish/faults.ts';
import { collection } from '#test/simulators/redfish/service-resources.ts';
import type { ServiceRequest, ServiceState } from '#test/simulators/redfish/service-state.ts';
import { awaitReset, perform, startTask } from '#test/simulators/redfish/tasks.ts';

/** UpdateService with SimpleUpdate and a firmware inventory (DMTF UpdateService, SoftwareInventory). */

export const updateServicePath = '/redfish/v1/UpdateService';
export const pushPath = `${updateServicePath}/upload`;
const adaptersPath = '/redfish/v1/Chassis/1/NetworkAdapters';
export const simpleUpdatePath = `${updateServicePath}/Actions/UpdateService.SimpleUpdate`;
const inventoryPath = `${updateServicePath}/FirmwareInventory`;
const nicPath = `${inventoryPath}/NIC.Slot.1`;

const parts = ['bios', 'bmc', 'nic'] as const;
type Part = (typeof parts)[number];

export interface SimulatedFirmware {
  versions: Readonly<Record<Part, string>>;
  /** Versions that the machine runs from its next reset on. */
  pending: Partial<Record<Part, string>>;
  /** Tasks that its next reset ends. */
  tasks: string[];
  /** How many are written now. */
  flashing: number;
}

export function createSimulatedFirmware(): SimulatedFirmware {
  return { versions: { bios: '1.0.0', bmc: '1.0.0', nic: '1.0.0' }, pending: {}, tasks: [], flashing: 0 };
}

/** Does what the machine does when it starts. */
export function bootFirmware({ firmware, tasks }: Pick<ServiceState, 'firmware' | 'tasks'>): void {
  firmware.versions = { ...firmware.versions, ...firmware.pending };
  firmware.pending = {};
  for (const id of firmware.tasks.splice(0)) tasks.set(id, { polls: 0, failed: false });
}

/** Images name what they are in their URL, as `…/bios-2.1.0.bin`; the BMC's own is at work at once, and ends its sessions and tasks. */
export async function simpleUpdate(state: ServiceState, text: string): Promise<Answer> {
  const body = parseObject(text);
  if (body === undefined) return errorAnswer(400, 'MalformedJSON');
  const { quirks } = state;
  if (quirks.simpleUpdate === 'with its protocol' && body['TransferProtocol'] === undefined) {
    return errorAnswer(400, 'ActionParameterMissing');
  }
  return install(state, String(body['ImageURI']), body['Targets'] as readonly string[] | undefined);
}

/**
 * A multipart form: `UpdateParameters`, which has no file name, and `UpdateFile`, which begins with "firmware" (DSP0266, push
 * updates).
 */
export async function pushUpdate(state: ServiceState, request: ServiceRequest): Promise<Answer> {
  const type = String(request.headers['content-type']);
  const form = await new Response(request.body, { headers: { 'content-type': type } }).formData();
  const [parameters, oem, file] = ['UpdateParameters', 'OemParameters', 'UpdateFile'].map((name) => form.get(name));
  if (typeof parameters !== 'string' || !(file instanceof File)) return errorAnswer(400, 'ActionParameterMissing');
  if (!(await file.text()).startsWith('firmware')) return errorAnswer(400, 'PropertyValueError');
  const { Targets: targets } = parseObject(parameters) ?? {};
  if (!file.name.startsWith('nic-')) {
    const wanted = pushFormOf(state.quirks.pushForm, file.name.startsWith('bmc-') ? 'BMC' : 'BIOS');
    const given = { targets, type: typeof oem === 'string' ? parseObject(oem)?.['ImageType'] : undefined };
    if (!isDeepStrictEqual(given, wanted)) {
      return errorAnswer(400, 'PropertyValueError', { text: "The object at 'Targets' is invalid." });
    }
  }
  return install(state, `/${file.name}`, targets as readonly string[] | undefined);
}

function pushFormOf(form: Quirks['pushForm'], part: 'BIOS' | 'BMC'): { targets: unknown; type: unknown } {
  const resource = part === 'BIOS' ? '/redfish/v1/Systems/1/Bios' : '/redfish/v1/Managers/1';
  const item = [`${inventoryPath}/${part}`];
  const targets: Record<Quirks['pushForm'], unknown> = {
    'no targets': undefined,
    'an empty list': [],
    'an item': item,
    'the resource': [resource],
    'an item and its type': item,
  };
  return { targets: targets[form], type: form === 'an item and its type' ? part : undefined };
}

/** An image alone, "firmware" and the name of its file in it. */
export function pushRawUpdate(state: ServiceState, request: ServiceRequest): Promise<Answer> {
  const [, name] = /^firmware of ([\w.-]+\.bin)$/.exec(request.body.trim()) ?? [];
  const isImage = name !== undefined && request.headers['content-type'] === 'application/octet-stream';
  return isImage ? install(state, `/${name}`, undefined) : Promise.resolve(errorAnswer(400, 'PropertyValueError'));
}

async function install(state: ServiceState, image: string, targets: readonly string[] | undefined): Promise<Answer> {
  const { firmware, quirks } = state;
  const [, name, version] = /\/([a-z]+)-([\d.]+)\.bin$/.exec(image) ?? [];
  const part = parts.find((each) => each === name);
  if (part === undefined || version === undefined) {
    return errorAnswer(400, 'PropertyValueError', { text: 'The image could not be read.' });
  }
  if (part === 'nic' && targets?.[0] !== nicPath) {
    return errorAnswer(400, 'PropertyValueError', { text: 'The image is not for the target.' });
  }
  if (quirks.updatesAtReset && part !== 'bmc') {
    const id = randomUUID().slice(0, 8);
    firmware.pending[part] = version;
    firmware.tasks.push(id);
    return awaitReset(state, id);
  }
  const write = (): void => {
    if (part === 'bmc') firmware.versions = { ...firmware.versions, bmc: version };
    else firmware.pending[part] = version;
  };
  if (quirks.flashesUntil) return flash(state, quirks.flashesUntil, write);
  // python3-sushy takes nothing but a task from it
  const answer = await perform({ ...state, quirks: { ...quirks, tasks: true } }, () => Promise.resolve(write()));
  if (part === 'bmc' && quirks.forgetsTasks) {
    state.tasks.clear();
    state.sessions.clear();
  }
  return answer;
}

export function hasUpdates({ simpleUpdate, multipartPush, rawPush }: Quirks): boolean {
  return simpleUpdate !== 'none' || multipartPush || rawPush;
}

/** One at a time, as BMCs do. */
function flash({ firmware, tasks, quirks }: ServiceState, until: Promise<unknown>, write: () => void): Answer {
  if (firmware.flashing > 0) return errorAnswer(503, 'ServiceTemporarilyUnavailable');
  firmware.flashing += 1;
  const { id, answer } = startTask({ tasks, quirks });
  void until.then(() => {
    firmware.flashing -= 1;
    write();
    if (tasks.has(id)) tasks.set(id, { polls: 0, failed: false });
  });
  return answer;
}

/** Composes the chassis' link to its network adapters. */
export function adapterLink(quirks: Quirks): Record<string, unknown> {
  return !hasUpdates(quirks) ? {} : { NetworkAdapters: { '@odata.id': adaptersPath } };
}

/** The resources, by path. */
export function updateResources(
  { versions }: SimulatedFirmware,
  quirks: Quirks,
): Record<string, Record<string, unknown>> {
  if (!hasUpdates(quirks)) return {};
  const items = [
    ['BIOS', versions.bios, false],
    ['BMC', versions.bmc, false],
    ['NIC.Slot.1', versions.nic, true],
  ] as const;
  return {
    [updateServicePath]: {
      '@odata.type': '#UpdateService.v1_8_0.UpdateService',
      Id: 'UpdateService',
      Name: 'Update service',
      ServiceEnabled: true,
      FirmwareInventory: { '@odata.id': inventoryPath },
      ...(quirks.multipartPush ? { MultipartHttpPushUri: pushPath } : {}),
      ...(quirks.rawPush ? { HttpPushUri: updateServicePath, HttpPushUriTargets: quirks.rawPushTargets } : {}),
      ...(quirks.simpleUpdate === 'none'
        ? {}
        : { Actions: { '#UpdateService.SimpleUpdate': { target: simpleUpdatePath } } }),
    },
    [adaptersPath]: collection('NetworkAdapterCollection', 'Adapters', [`${adaptersPath}/NIC.Slot.1`]),
    [`${adaptersPath}/NIC.Slot.1`]: {
      '@odata.type': '#NetworkAdapter.v1_8_0.NetworkAdapter',
      Id: 'NIC.Slot.1',
      Name: 'Adapter',
      // as cards of two controllers whose first tells none
      Controllers: [{}, { FirmwarePackageVersion: versions.nic }],
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
          ...(updateable ? { RelatedItem: [{ '@odata.id': `${adaptersPath}/NIC.Slot.1` }] } : {}),
        },
      ]),
    ),
  };
}
