import { readFile } from 'node:fs/promises';
import type { BuildContext } from '#image-build/build-context.ts';
import { hashOf } from '#image-build/files.ts';
import { authenticodeDigest } from '#image-build/ramdisk/authenticode.ts';
import { AppError } from '#shared/errors/app-error.ts';

/** Signs programs for UEFI: by a key and its certificate in PEM files, or by a program of one's own. */
export type Signer = { readonly key: string; readonly certificate: string } | { readonly command: string };

/**
 * Adds a signature to a program, beside those that it has.
 * @throws AppError `command_failed` with what the signer said; `internal`: what it has written is another program
 */
export async function signProgram(
  context: Pick<BuildContext, 'run'>,
  signer: Signer,
  { program, target }: { readonly program: string; readonly target: string },
): Promise<void> {
  if ('command' in signer) {
    await context.run(signer.command, [program, target]);
  } else {
    const { key, certificate } = signer;
    await context.run('sbsign', ['--key', key, '--cert', certificate, '--output', target, program]);
  }
  const [before, after] = [await readFile(program), await readFile(target)];
  if (authenticodeDigest(before) !== authenticodeDigest(after))
    throw new AppError('internal', 'what the signer has written is another program than the one that it was given');
  if (after.length <= before.length) throw new AppError('internal', 'the signer has added no signature');
}

/** Names who signs, for the hash of a build's inputs: signatures themselves differ each time. */
export async function signerHash(signer: Signer): Promise<string> {
  return hashOf('command' in signer ? signer : { certificate: await readFile(signer.certificate, 'utf8') });
}
