/** How an API key or an access token stands now. */
export function keyState(
  { revoked_at: revokedAt, expires_at: expiresAt }: { revoked_at: string | null; expires_at: string | null },
  now: number,
): 'valid' | 'revoked' | 'expired' {
  if (revokedAt !== null) return 'revoked';
  return expiresAt !== null && Date.parse(expiresAt) <= now ? 'expired' : 'valid';
}
