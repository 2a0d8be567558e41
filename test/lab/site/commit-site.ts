import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { AppError } from '#shared/errors/app-error.ts';
import { baton } from '#test/lab/baton-command.ts';
import type { Lab } from '#test/lab/lab.ts';
import { switchId } from '#test/lab/network.ts';
import type { DemoImage } from '#test/lab/operator.ts';
import { fillDocument } from '#test/lab/site/fill-document.ts';

export interface SiteContent {
  /** Folders of plugins. */
  readonly plugins: readonly string[];
  /** YAML by the name that its file gets, without ending. */
  readonly documents: Readonly<Record<string, string>>;
}

export interface CommandHooks {
  /** Reports what is done, a line each. */
  readonly report: (line: string) => void;
  /** Shows what the commands print. */
  readonly show: (line: string) => void;
}

/** Uploads and commits a site with the commands of an operator who has these documents and plugins. */
export async function commitSite(lab: Lab, { plugins, documents }: SiteContent, hooks: CommandHooks): Promise<void> {
  const files = Object.entries(documents).map(([name, text]) => {
    const file = join(lab.directory.path, `${name}.yaml`);
    writeFileSync(file, text);
    return file;
  });
  const { username, password } = bmcAccount(lab);
  const commands = [
    ['credential', 'set', 'lab-bmc', `username=${username}`, 'password=@-'],
    ...plugins.map((folder) => ['plugin', 'upload', folder]),
    ['plugin', 'order'],
    ['site', 'upload', 'lab', ...files],
    ['site', 'validate'],
    ['site', 'commit'],
  ];
  for (const args of commands) {
    hooks.report(`baton ${args.join(' ')}`);
    await baton(lab, args, { onLine: hooks.show, input: password });
  }
}

/** Gives what a document of a machine needs to know of it. @throws AppError `not_found` */
export function nodeValues(lab: Lab, name: string): Record<'name' | 'mac' | 'bmc' | 'switch_id', string> {
  const node = lab.nodes.find((each) => each.name === name);
  if (!node) throw new AppError('not_found', `the lab has no machine ${name}`);
  const address = Object.entries(node.bmc.driverInfo).find(([key]) => key.endsWith('_address'))?.[1];
  return { name, mac: node.machine.mac, bmc: String(address), switch_id: switchId };
}

/** The host profile `lab-host`, which all machines of the lab share. */
export function profileDocument(lab: Lab, image: DemoImage): string {
  const [first] = lab.nodes;
  return fillDocument(readFileSync(join(import.meta.dirname, 'documents', 'profile.yaml'), 'utf8'), {
    driver: first?.bmc.driver ?? '',
    boot_mode: first?.machine.firmware ?? '',
    image_url: `${lab.conductor.url}${image.urlPath}`,
    image_sha256: image.sha256,
  });
}

function bmcAccount(lab: Lab): { username: string; password: string } {
  const info = lab.nodes[0]?.bmc.driverInfo ?? {};
  const value = (suffix: string): string =>
    String(Object.entries(info).find(([name]) => name.endsWith(suffix))?.[1] ?? '');
  return { username: value('_username'), password: value('_password') };
}
