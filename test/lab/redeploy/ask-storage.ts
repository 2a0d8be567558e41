import { request } from 'undici';
import { z } from 'zod';
import { tenantAddress } from '#test/lab/dnsmasq.ts';
import type { LabNode, LabSite } from '#test/lab/lab.ts';
import { waitUntil } from '#test/lab/wait-until.ts';

/** Answer of the plugin `lab-storage` on port 8081 of the deployed system. */
const StorageAnswer = z.object({
  /** Mark of this system alone: some hundred KiB of it are on its own disk. */
  mark: z.string(),
  /** Whether this system has made array, file system and file. */
  made: z.boolean(),
  /** The file's first line, of which it consists. */
  file: z.string(),
  file_sha256: z.string(),
  /** Content of `/proc/mdstat`. */
  array: z.string(),
});
export type StorageAnswer = z.infer<typeof StorageAnswer>;

/** Waits until the deployed system has mounted its data disks, and asks it about them. @throws AppError `timeout` */
export function askStorage(site: LabSite, node: LabNode, timeoutMs: number): Promise<StorageAnswer> {
  return waitUntil(
    `the data disks of ${node.name}`,
    async () => {
      const address = tenantAddress(site.directory, node.machine.mac);
      if (address === undefined) return undefined;
      const response = await request(`http://${address}:8081/`, { dispatcher: site.gate });
      return StorageAnswer.parse(await response.body.json());
    },
    { timeoutMs, signal: site.closing },
  );
}
