import { buildBatonCli } from '#image-build/baton-cli.ts';
import type { BuildContext } from '#image-build/build-context.ts';
import { buildDebianPackage } from '#image-build/debian-package/build-debian-package.ts';
import { buildOciImage } from '#image-build/oci-image/build-oci-image.ts';

/** `npm run package`: all that Baton is installed from. */
export async function buildPackages(context: BuildContext, options: { readonly output?: string }): Promise<void> {
  await buildBatonCli(context, options);
  await buildDebianPackage(context, options);
  await buildOciImage(context, options);
}
