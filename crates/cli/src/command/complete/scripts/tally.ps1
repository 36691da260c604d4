# Completion of tally for PowerShell. Written by: tally completions powershell

Register-ArgumentCompleter -Native -CommandName tally -ScriptBlock {
    param($word, $line, $cursor)
    $plain = {
        param($element)
        if ($element -is [System.Management.Automation.Language.StringConstantExpressionAst]) { $element.Value }
        else { $element.Extent.Text }
    }
    $before = @($line.CommandElements | Select-Object -Skip 1 |
        Where-Object { $_.Extent.EndOffset -lt $cursor } | ForEach-Object { & $plain $_ })
    $typed = $word.Trim("'", '"')
    $answer = @(& $line.CommandElements[0].Extent.Text __complete powershell '--' @before $typed 2>$null)
    # Nothing is offered for files: PowerShell then completes them itself.
    if ($answer.Count -eq 0 -or $answer[0] -notin 'words', 'parts') { return }
    $answer | Select-Object -Skip 1 | ForEach-Object {
        $text, $about = $_ -split "`t", 2
        $quoted = $text
        if ($text -match '[^A-Za-z0-9_./%+=-]') { $quoted = "'" + $text.Replace("'", "''") + "'" }
        if (-not $about) { $about = $text }
        [System.Management.Automation.CompletionResult]::new($quoted, $text, 'ParameterValue', $about)
    }
}
