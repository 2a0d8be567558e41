import { readdir, readFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { z } from 'zod';
import { type DeviceRoots, systemRoots } from '#agent/storage/device-identity.ts';
import type { BlockDevice } from '#agent/storage/lsblk.ts';
import { AppError } from '#shared/errors/app-error.ts';
import type { Run } from '#shared/process/run.ts';

interface Controller {
  /** `/dev/nvme0` */
  readonly name: string;
  readonly subsystem: string;
  readonly serial: string | null;
  readonly model: string | null;
}

/** nvme-cli 2 writes `{"nsid_list": [{"nsid": 1}]}`. */
const NamespaceList = z.object({ nsid_list: z.array(z.object({ nsid: z.int().positive() })) });
const IdentifyController = z.looseObject({ oacs: z.number().default(0) });

/** Controllers that manage namespaces report those that are attached nowhere, or to another host, too (OACS bit 3). */
const managesNamespaces = 0b1000;

/**
 * Adds what only erasing needs to know of NVMe: the subsystem of each namespace, by the kernel's `/sys`, because its name
 * reports neither controller nor subsystem for sure; and the namespaces that this machine has no device for.
 * @returns the devices, and each such namespace as one without capacity, `isDetached`, named `/dev/nvme0-nsid5`
 * @throws AppError `storage_error` when a controller does not report its namespaces: what is not known must not be wiped.
 */
export async function addNvmeNamespaces(
  run: Run,
  devices: readonly BlockDevice[],
  roots: DeviceRoots = systemRoots,
): Promise<readonly BlockDevice[]> {
  const known = new Set<string>();
  const named = await Promise.all(
    devices.map(async (device) => {
      if (!isNamespace(device)) return device;
      const folder = join(roots.sys, 'class/block', basename(device.name));
      const nvmeSubsystem = await readText(join(folder, 'device/subsysnqn'));
      known.add(`${nvmeSubsystem} ${await readText(join(folder, 'nsid'))}`);
      return { ...device, nvmeSubsystem };
    }),
  );
  const detached: BlockDevice[] = [];
  for (const controller of await listControllers(roots)) {
    for (const nsid of await listNamespaces(run, controller)) {
      const key = `${controller.subsystem} ${nsid}`;
      if (known.has(key)) continue;
      known.add(key);
      detached.push(detachedNamespace(controller, nsid));
    }
  }
  return [...named, ...detached];
}

/**
 * Recognizes namespaces; what looks like one and has no subsystem is of another kind: nothing that a controller
 * reported can be it.
 */
function isNamespace({ name }: BlockDevice): boolean {
  return /^\/dev\/nvme\d+n\d+$/.test(name);
}

async function listControllers({ sys }: DeviceRoots): Promise<readonly Controller[]> {
  const folder = join(sys, 'class/nvme');
  const names = await readdir(folder).catch((cause: NodeJS.ErrnoException): string[] => {
    // no NVMe in this machine
    if (cause.code === 'ENOENT') return [];
    throw new AppError('storage_error', `read the NVMe controllers in ${folder}`, { cause });
  });
  return Promise.all(
    names
      .filter((name) => /^nvme\d+$/.test(name))
      .map(async (name) => ({
        name: `/dev/${name}`,
        subsystem: await readText(join(folder, name, 'subsysnqn')),
        serial: await readText(join(folder, name, 'serial')),
        model: await readText(join(folder, name, 'model')),
      })),
  );
}

/** NSIDs of all of a controller's subsystem, or, where it can't have detached ones, of those attached to it. */
async function listNamespaces(run: Run, { name }: Controller): Promise<readonly number[]> {
  try {
    const { oacs } = IdentifyController.parse(
      JSON.parse((await run('nvme', ['id-ctrl', name, '--output-format=json'])).stdout),
    );
    const all = (oacs & managesNamespaces) === 0 ? [] : ['--all'];
    const { stdout } = await run('nvme', ['list-ns', name, ...all, '--output-format=json']);
    return NamespaceList.parse(JSON.parse(stdout)).nsid_list.map(({ nsid }) => nsid);
  } catch (cause) {
    throw new AppError('storage_error', `read which namespaces ${name} has`, { cause });
  }
}

function detachedNamespace({ name, subsystem, serial, model }: Controller, nsid: number): BlockDevice {
  return {
    // not `n5`: the kernel numbers its devices by itself, so that may be another namespace's
    name: `${name}-nsid${nsid}`,
    type: 'disk',
    sizeBytes: 0,
    model,
    vendor: null,
    serial,
    wwn: null,
    wwnWithExtension: null,
    wwnVendorExtension: null,
    serials: [],
    wwns: [],
    links: [],
    hctl: null,
    byPath: null,
    rotational: false,
    tran: 'nvme',
    readOnly: false,
    removable: false,
    logicalSectorBytes: 512,
    physicalSectorBytes: 512,
    mountpoints: [],
    holders: [],
    partitions: [],
    nvmeSubsystem: subsystem,
    isDetached: true,
  };
}

/** @throws AppError `storage_error` naming the file. */
async function readText(file: string): Promise<string> {
  try {
    return (await readFile(file, 'utf8')).trim();
  } catch (cause) {
    throw new AppError('storage_error', `read ${file}`, { cause });
  }
}
