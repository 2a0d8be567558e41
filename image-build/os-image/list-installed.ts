import type { BuildContext } from '#image-build/build-context.ts';

/** `name=version` of the packages installed in a tree that mmdebstrap packed as an archive. */
export async function listInstalled(context: BuildContext, archive: string): Promise<readonly string[]> {
  const { stdout } = await context.run('tar', ['--extract', '--to-stdout', '--file', archive, './var/lib/dpkg/status']);
  return parseDpkgStatus(stdout);
}

/** `name=version` of each installed package in dpkg's status file. */
export function parseDpkgStatus(text: string): string[] {
  return text.split(/\n\n+/).flatMap((paragraph) => {
    const field = (name: string): string | undefined => new RegExp(`^${name}: (.*)$`, 'm').exec(paragraph)?.[1];
    const name = field('Package');
    return name && field('Status')?.endsWith(' installed') ? [`${name}=${field('Version') ?? ''}`] : [];
  });
}
