
Set-StrictMode -Version 2
$ErrorActionPreference = 'Stop'
# Where nobody but administrators can write.
$directory = Join-Path $env:ProgramFiles 'fullbore'
$file = Join-Path $directory 'powershell.json'
$problems = 0

# What each value was before this script changed it, and what it made of it.
$saved = @{}
if (Test-Path -LiteralPath $file) {
    $written = Get-Content -LiteralPath $file -Raw -Encoding UTF8 | ConvertFrom-Json
    foreach ($entry in $written.PSObject.Properties) { $saved[$entry.Name] = $entry.Value }
}

function Save-Values {
    if (-not (Test-Path -LiteralPath $directory)) { New-Item -ItemType Directory -Path $directory | Out-Null }
    ConvertTo-Json $saved | Set-Content -LiteralPath "$file.new" -Encoding UTF8
    Move-Item -LiteralPath "$file.new" -Destination $file -Force
}

# The present value as the plan writes it; nothing where there is none, or no way to tell.
function Get-Present($setting) {
    try { $value = & $setting.Read } catch { return '' }
    if ($null -eq $value) { return '' }
    return "$value".ToLowerInvariant()
}

# Programs say by a number that they could not do something; cmdlets throw.
function Set-Present($setting, $value) {
    $global:LASTEXITCODE = 0
    if ($value -match '^\d+$') { $value = [long]$value }
    $said = & $setting.Set $value
    if ($global:LASTEXITCODE -ne 0) { throw "$said" }
}

function Clear-Present($setting) {
    $global:LASTEXITCODE = 0
    $said = & $setting.Unset
    if ($global:LASTEXITCODE -ne 0) { throw "$said" }
}

function Invoke-Settings {
    $failed = @()
    foreach ($setting in $settings) {
        $name = $setting.Name
        if ($setting.First | Where-Object { $failed -contains $_ }) {
            Write-Warning "${name}: left alone, since what comes first could not be set"
            $failed += $name
            continue
        }
        $present = Get-Present $setting
        $now = $present
        if ($now -eq '') { $now = "$($setting.Former)".ToLowerInvariant() }
        if ($present -eq $setting.Value) {
            Write-Output "${name}: $present already"
            continue
        }
        if ($setting.Rising -and $now -match '^\d+$' -and [decimal]$now -ge [decimal]$setting.Value) {
            Write-Output "${name}: $now already, which is no less than $($setting.Value)"
            continue
        }
        if ($setting.Rising -and $now -ne '' -and $now -notmatch '^\d+$') {
            Write-Warning "${name}: left alone, since it is $now, which cannot be compared with $($setting.Value)"
            $failed += $name
            continue
        }
        $was = $present
        if ($saved.ContainsKey($name) -and ($saved[$name].Ours -eq $present -or $present -eq '')) { $was = $saved[$name].Was }
        $saved[$name] = New-Object PSObject -Property @{ Was = $was; Ours = $setting.Value }
        Save-Values
        try {
            Set-Present $setting $setting.Value
            $present = Get-Present $setting
            if ($present -ne '' -and $present -ne $setting.Value) { throw "it is $present" }
            Write-Output "${name}: $now -> $($setting.Value)"
        } catch {
            Write-Warning "${name}: cannot be set to $($setting.Value): $_"
            $failed += $name
        }
    }
    $script:problems = $failed.Count
}

function Undo-Settings {
    [array]::Reverse($settings)
    foreach ($setting in $settings) {
        $name = $setting.Name
        if (-not $saved.ContainsKey($name)) { continue }
        $old = $saved[$name]
        $present = Get-Present $setting
        if ($present -ne '' -and $present -ne $old.Ours -and $present -ne $old.Was) {
            Write-Output "${name}: left alone, since it is $present by now: not what was set"
        } elseif ($present -ne '' -and $present -eq $old.Was) {
            Write-Output "${name}: $present already"
        } else {
            try {
                if ($old.Was -eq '') { Clear-Present $setting } else { Set-Present $setting $old.Was }
                Write-Output "${name}: $present -> $($old.Was)"
            } catch {
                Write-Warning "${name}: cannot be set to $($old.Was): $_"
                $script:problems++
                continue
            }
        }
        $saved.Remove($name)
        Save-Values
    }
    if ($saved.Count -eq 0 -and (Test-Path -LiteralPath $file)) { Remove-Item -LiteralPath $file }
}

if ($Undo) { Undo-Settings } else { Invoke-Settings }
if ($problems) { exit 1 }
