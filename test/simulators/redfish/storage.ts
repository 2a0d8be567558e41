import { randomUUID } from 'node:crypto';
import { type Answer, errorAnswer, parseObject } from '#test/simulators/redfish/answers.ts';
import type { Quirks } from '#test/simulators/redfish/faults.ts';
import type { ServiceState } from '#test/simulators/redfish/service-state.ts';
import { awaitReset, perform, startTask, workUntil } from '#test/simulators/redfish/tasks.ts';

/** A storage controller with six drives: Storage, Drives, Volumes (DMTF Storage, Drive, Volume; DSP0266 apply times). */

export const storagePath = '/redfish/v1/Systems/1/Storage';
const controllerPath = `${storagePath}/RAID.Integrated.1-1`;
export const volumesPath = `${controllerPath}/Volumes`;
const plainPath = `${storagePath}/AHCI.Embedded.1-1`;

const gib = 1024 ** 3;
const leastDrives: Readonly<Record<string, number>> = { RAID0: 1, RAID1: 2, RAID5: 3, RAID6: 4, RAID10: 4 };

interface SimulatedDrive {
  readonly id: string;
  readonly gib: number;
  readonly media: 'SSD' | 'HDD';
}

const drives: readonly SimulatedDrive[] = [0, 1, 2, 3, 4, 5].map((bay) => ({
  id: `Disk.Bay.${bay}`,
  gib: bay < 2 ? 480 : 1200,
  media: bay < 2 ? 'SSD' : 'HDD',
}));
const drivePath = (id: string): string => `${controllerPath}/Drives/${id}`;
export const drivePaths: readonly string[] = drives.map(({ id }) => drivePath(id));

interface SimulatedVolume {
  readonly id: string;
  readonly name: string;
  readonly raidType: string;
  readonly capacityBytes: number;
  /** Paths. */
  readonly drives: readonly string[];
}

export interface SimulatedStorage {
  volumes: readonly SimulatedVolume[];
  /** Changes at the next reset, in order. */
  pending: Change[];
  /** Changes that the controller is making. */
  making: Change[];
}

interface Change {
  readonly drives: readonly string[];
  readonly act: () => void;
}

export function createSimulatedStorage(): SimulatedStorage {
  return { volumes: [], pending: [], making: [] };
}

/** Does what the controller does when the machine starts. */
export function bootStorage(state: ServiceState): void {
  const { storage } = state;
  for (const change of storage.pending) begin(state, change);
  storage.pending = [];
}

/** `ended` is called at once where nothing says how long it takes. */
function begin(state: ServiceState, change: Change, ended: () => void = () => undefined): void {
  const { storage, quirks } = state;
  const end = (): void => {
    storage.making = storage.making.filter((each) => each !== change);
    change.act();
    ended();
  };
  if (quirks.volumesMadeAfter === undefined) return end();
  storage.making.push(change);
  workUntil(state, quirks.volumesMadeAfter, end);
}

/** `POST …/Volumes`. */
export async function createVolume(state: ServiceState, text: string): Promise<Answer> {
  const body = parseObject(text);
  if (body === undefined) return errorAnswer(400, 'MalformedJSON');
  const { storage, quirks } = state;
  const place = quirks.volumeDrivesAtTop ? 'Drives' : 'Links';
  const legal = ['Name', 'RAIDType', 'CapacityBytes', place, '@Redfish.OperationApplyTime'];
  const unknown = Object.keys(body).find((key) => !legal.includes(key));
  if (unknown !== undefined)
    return refused('PropertyUnknown', `The property ${unknown} is not in the list of valid properties.`);
  const links = quirks.volumeDrivesAtTop ? body : (body['Links'] as Record<string, unknown> | undefined);
  const wanted = ((links?.['Drives'] ?? []) as { '@odata.id': string }[]).map((each) => each['@odata.id']);
  const raidType = String(body['RAIDType']);
  const chosen = wanted.flatMap((path) => drives.find(({ id }) => drivePath(id) === path) ?? []);
  if (chosen.length < (leastDrives[raidType] ?? Infinity) || chosen.length !== wanted.length) {
    return refused('PropertyValueNotInList', `The drives do not make ${raidType}.`);
  }
  const taken = [...storage.volumes, ...storage.pending, ...storage.making].flatMap((each) => each.drives);
  const inUse = wanted.filter((path) => taken.includes(path));
  if (inUse.length > 0) return refused('PropertyValueError', `The drive ${inUse.join(', ')} is in use.`);
  const most = Math.min(...chosen.map((drive) => drive.gib)) * gib * dataDrives(raidType, chosen.length);
  const capacityBytes = Number(body['CapacityBytes'] ?? most);
  if (!(capacityBytes > 0 && capacityBytes <= most))
    return refused('PropertyValueError', 'The capacity is not possible.');
  const add = (): void => {
    const id = `Disk.Virtual.${storage.volumes.length}`;
    const name = typeof body['Name'] === 'string' ? body['Name'] : `Virtual Disk ${storage.volumes.length}`;
    storage.volumes = [...storage.volumes, { id, name, raidType, capacityBytes, drives: wanted }];
  };
  return applied(state, body, { drives: wanted, act: add });
}

/** `DELETE …/Volumes/{id}`. */
export async function deleteVolume(state: ServiceState, path: string, text: string): Promise<Answer> {
  const { storage, quirks } = state;
  const found = storage.volumes.find(({ id }) => path === `${volumesPath}/${id}`);
  if (!found) return errorAnswer(404, 'ResourceNotFound');
  if (quirks.deletesLastVolumeOnly && found !== storage.volumes.at(-1)) {
    const higher = 'without deleting the higher volumes in the same Physical drive first';
    return refused('PropertyValueError', `This volume cannot be deleted ${higher}.`);
  }
  if (quirks.rejectsDeletionTime && text.includes('OperationApplyTime')) {
    const parameter = 'Unsupported parameter name @Redfish.OperationApplyTime';
    return errorAnswer(500, 'InternalError', { id: 'IDRAC.2.8.SYS029', text: parameter });
  }
  const act = (): void => {
    storage.volumes = storage.volumes.filter((each) => each !== found);
  };
  return applied(state, parseObject(text) ?? {}, { drives: [], act });
}

async function applied(state: ServiceState, body: Record<string, unknown>, change: Change): Promise<Answer> {
  const times = state.quirks.volumeApplyTimes;
  const time = body['@Redfish.OperationApplyTime'] ?? times[0] ?? 'OnReset';
  if (times.length > 0 && !times.some((each) => each === time)) {
    return refused('PropertyValueNotInList', `The apply time ${JSON.stringify(time)} is not supported.`);
  }
  if (state.quirks.oneVolumeTask && state.storage.pending.length + state.storage.making.length > 0) {
    return refused('PropertyValueError', 'A configuration job of the device exists already.');
  }
  if (time === 'Immediate' && state.quirks.volumesMadeAfter) {
    const { id, answer } = startTask(state);
    begin(state, change, () => state.tasks.has(id) && state.tasks.set(id, { polls: 0, failed: false }));
    return answer;
  }
  if (time === 'Immediate') return perform(state, () => Promise.resolve(change.act()));
  state.storage.pending.push(change);
  return awaitReset(state, randomUUID().slice(0, 8));
}

function dataDrives(raidType: string, count: number): number {
  if (raidType === 'RAID1') return 1;
  if (raidType === 'RAID10') return count / 2;
  return count - (raidType === 'RAID5' ? 1 : raidType === 'RAID6' ? 2 : 0);
}

function refused(message: string, text: string): Answer {
  return errorAnswer(400, message, { text });
}

/** The resources, by path. */
export function storageResources(storage: SimulatedStorage, quirks: Quirks): Record<string, Record<string, unknown>> {
  const references = (paths: readonly string[]) => paths.map((path) => ({ '@odata.id': path }));
  const controllers = [...(quirks.plainController ? [plainPath] : []), controllerPath];
  const volumes = storage.volumes.map((volume) => [`${volumesPath}/${volume.id}`, volumeResource(volume)] as const);
  return {
    [storagePath]: {
      '@odata.type': '#StorageCollection.StorageCollection',
      Name: 'Storage',
      'Members@odata.count': controllers.length,
      Members: references(controllers),
    },
    ...(quirks.plainController ? plainController() : {}),
    [controllerPath]: {
      '@odata.type': '#Storage.v1_8_0.Storage',
      Id: 'RAID.Integrated.1-1',
      Name: 'RAID controller',
      Status: { State: 'Enabled', Health: 'OK' },
      StorageControllers: [
        {
          '@odata.id': `${controllerPath}#/StorageControllers/0`,
          MemberId: '0',
          Name: 'RAID controller',
          SupportedRAIDTypes: Object.keys(leastDrives),
        },
      ],
      Drives: references(drivePaths),
      ...(quirks.noVolumes ? {} : { Volumes: { '@odata.id': volumesPath } }),
    },
    ...Object.fromEntries(drives.map((drive) => [drivePath(drive.id), driveResource(drive)])),
    [volumesPath]: {
      '@odata.type': '#VolumeCollection.VolumeCollection',
      Name: 'Volumes',
      'Members@odata.count': volumes.length,
      Members: references(volumes.map(([path]) => path)),
      ...(quirks.volumeApplyTimes.length === 0
        ? {}
        : {
            '@Redfish.OperationApplyTimeSupport': {
              '@odata.type': '#Settings.v1_3_0.OperationApplyTimeSupport',
              SupportedValues: quirks.volumeApplyTimes,
            },
          }),
    },
    ...Object.fromEntries(volumes),
  };
}

/** The board's own controller, whose two drives stand for themselves. */
function plainController(): Record<string, Record<string, unknown>> {
  const paths = ['A', 'B'].map((port) => `${plainPath}/Drives/${port}`);
  const [first] = drives;
  return {
    [plainPath]: {
      '@odata.type': '#Storage.v1_8_0.Storage',
      Id: 'AHCI.Embedded.1-1',
      Name: 'AHCI controller',
      Drives: paths.map((path) => ({ '@odata.id': path })),
      Volumes: { '@odata.id': `${plainPath}/Volumes` },
    },
    [`${plainPath}/Volumes`]: {
      '@odata.type': '#VolumeCollection.VolumeCollection',
      Name: 'Volumes',
      'Members@odata.count': 0,
      Members: [],
    },
    ...Object.fromEntries(paths.map((path) => [path, first ? driveResource({ ...first, id: path.slice(-1) }) : {}])),
  };
}

function driveResource({ id, gib: size, media }: SimulatedDrive): Record<string, unknown> {
  const bay = id.split('.').at(-1) ?? '';
  return {
    '@odata.type': '#Drive.v1_9_0.Drive',
    Id: id,
    Name: `Drive ${bay}`,
    CapacityBytes: size * gib,
    MediaType: media,
    Protocol: 'SAS',
    Model: media === 'SSD' ? 'PM1643' : 'ST1200',
    Manufacturer: 'Simulated',
    SerialNumber: `SN-${bay}`,
    Status: { State: 'Enabled', Health: 'OK' },
    Identifiers: [{ DurableName: `5000C500A1B2C3D${bay}`, DurableNameFormat: 'NAA' }],
  };
}

function volumeResource(volume: SimulatedVolume): Record<string, unknown> {
  return {
    '@odata.type': '#Volume.v1_5_0.Volume',
    Id: volume.id,
    Name: volume.name,
    RAIDType: volume.raidType,
    CapacityBytes: volume.capacityBytes,
    Status: { State: 'Enabled', Health: 'OK' },
    Identifiers: [{ DurableName: `64CD98F0A1B2C3D4000000000000000${volume.id.at(-1)}`, DurableNameFormat: 'NAA' }],
    Links: { Drives: volume.drives.map((path) => ({ '@odata.id': path })) },
  };
}
