import { createServerCertificate } from '#agent/tls.ts';

/** A self-signed certificate for a simulated BMC at an IP address: private key and certificate as PEM. */
export function createBmcCertificate(ipAddress: string): { readonly key: string; readonly cert: string } {
  const { keyPem, certificatePem } = createServerCertificate({
    address: ipAddress,
    hostName: 'simulated-bmc',
    curve: 'p256',
  });
  return { key: keyPem, cert: certificatePem };
}
